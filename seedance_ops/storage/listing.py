"""What a listing says: of objects, and of uploads in parts that nobody has finished."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ObjectEntry:
    """One object."""

    key: str
    """Relative to the location that was listed."""
    bytes: int
    modified_s: float
    """When it was written, in seconds since 1970 by the store's clock."""


@dataclass(frozen=True)
class UnfinishedUpload:
    """Parts that are stored and paid for, and that list as no object until their upload is completed."""

    key: str
    """Of the object that it would become, relative to the location."""
    upload_id: str
    begun_s: float
    """In seconds since 1970 by the store's clock."""
