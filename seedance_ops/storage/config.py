"""Where objects live: the address of an S3-compatible store, never its credentials."""

from __future__ import annotations

from pydantic import Field

from seedance_ops.strict_model import StrictModel

DEFAULT_URI = "s3://seedance/runs"
URI_VARIABLE = "SEEDANCE_STORAGE_URI"
"""Environment variable with the base below which every job has its folder."""


class StorageLocation(StrictModel):
    """A prefix in an S3-compatible bucket.

    Credentials are looked up by boto3's usual chain (``AWS_ACCESS_KEY_ID`` …), so that no plan, log or
    XCom that carries a location can carry a secret.
    """

    uri: str = Field(pattern=r"^s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](/[^\s]*)?$")
    """``s3://bucket/prefix``, without a trailing slash."""
    endpoint_url: str | None = None
    """Endpoint of a compatible server; ``None`` means AWS."""
    region: str | None = None
    """Region of the bucket; ``None`` means the environment's."""
    addressing_style: str = Field(default="path", pattern="^(path|virtual|auto)$")
    """Where a request names the bucket: in its ``path``, in the host (``virtual``), or ``auto``."""

    @property
    def bucket(self) -> str:
        """The bucket's name."""
        return self.uri.removeprefix("s3://").partition("/")[0]

    @property
    def prefix(self) -> str:
        """The key prefix without leading or trailing slash; may be empty."""
        return self.uri.removeprefix("s3://").partition("/")[2].strip("/")

    def child(self, *parts: str) -> StorageLocation:
        """The location one or more path segments further down."""
        return self.model_copy(update={"uri": "/".join([self.uri.rstrip("/"), *parts])})
