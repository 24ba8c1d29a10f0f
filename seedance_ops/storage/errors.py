"""What can go wrong with the object store; each message names the place and the next step, never a secret."""

from __future__ import annotations


class StorageError(Exception):
    """The store did not do what was asked; the base of all others here."""


class StoreUnreachable(StorageError):  # noqa: N818
    """No answer, or an answer that says the server is in trouble: trying again later may help."""


class AccessDenied(StorageError):  # noqa: N818
    """The store answered and refused the credentials, or there are none."""


class BucketMissing(StorageError):  # noqa: N818
    """The bucket does not exist at this endpoint."""


class ObjectMissing(StorageError):  # noqa: N818
    """There is no object under the key."""


class ObjectExists(StorageError):  # noqa: N818
    """A conditional put lost: another object stands under the key."""
