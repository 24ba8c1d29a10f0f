"""``kind: PublishedFigures``: a publication's tables and claims as data."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date as Date  # noqa: N812 - fields are called so
from typing import Annotated, Literal

from pydantic import Field

from seedance_ops.audit.claims import Claim, Identifier, Reference, Unit
from seedance_ops.audit.printed import PATTERN, Printed, PrintedText
from seedance_ops.strict_model import StrictModel


class Publication(StrictModel):
    """Whose figures these are."""

    name: Identifier
    """Short name, for file names and headings."""
    title: str = Field(min_length=1, max_length=300)
    """Title of the publication."""
    source: str = Field(min_length=3, max_length=500)
    """Where it was read: an address, a file, a page."""
    read_on: Date
    """The day on which it was read."""


class Column(StrictModel):
    """One column of a table."""

    unit: Unit
    """Unit of its figures."""
    title: str | None = Field(default=None, max_length=200)
    """Its heading."""


class Table(StrictModel):
    """One table, as printed."""

    title: str = Field(min_length=1, max_length=300)
    """Its title."""
    where: str = Field(min_length=1, max_length=300)
    """Where it stands."""
    columns: dict[Identifier, Column] = Field(min_length=1)
    """Its columns."""
    rows: dict[Identifier, dict[Identifier, PrintedText]] = Field(min_length=1)
    """By row: the printed figures by column, in quotes; a cell without a figure is left out."""


class Figure(StrictModel):
    """A number that stands in the text."""

    printed: PrintedText
    """The number, in quotes."""
    unit: Unit
    """Its unit."""
    where: str = Field(min_length=1, max_length=300)
    """Where it stands."""


class PublishedFigures(StrictModel):
    """One file of ``include/published/``."""

    api_version: Literal["seedance.ops/v1"] = Field(alias="apiVersion")
    """Version of the language."""
    kind: Literal["PublishedFigures"]
    """What the file describes."""
    publication: Publication
    """The publication, and where it was read."""
    tables: dict[Identifier, Table] = {}
    """Every table, by a name of your own."""
    figures: dict[Identifier, Figure] = {}
    """Every other number that a claim rests on."""
    claims: dict[Annotated[str, Identifier], Claim] = Field(min_length=1)
    """What is recomputed, by a name of your own."""

    def printed(self, stated: str) -> Printed:
        """A figure by its reference, or a number that is written out; raises ``KeyError``."""
        return Printed.parse(self.text(stated))

    def text(self, stated: str) -> str:
        """As ``printed``, as text."""
        if re.match(PATTERN, stated):
            return stated
        if stated in self.figures:
            return self.figures[stated].printed
        table, _, cell = stated.partition(".")
        row, _, column = cell.partition(".")
        return self.tables[table].rows[row][column]

    def references(self) -> Iterator[str]:
        """Every figure that a claim may name."""
        yield from self.figures
        for name, table in self.tables.items():
            yield from (f"{name}.{row}.{column}" for row, cells in table.rows.items() for column in cells)


def references_of(claim: StrictModel) -> Iterator[tuple[tuple[str | int, ...], Reference]]:
    """The figures that a claim names, each with the path of the key that names it."""
    for name, field in type(claim).model_fields.items():
        if name in ("where", "quote", "kind", "source", "formula", "right", "unit", "symbols"):
            continue
        yield from _references((field.alias or name,), getattr(claim, name))


def _references(path: tuple[str | int, ...], value: object) -> Iterator[tuple[tuple[str | int, ...], str]]:
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, tuple):
        for index, item in enumerate(value):
            yield from _references((*path, index), item)
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _references((*path, key), item)
