"""Makes the boto3 client for a location: endpoint, region, timeouts, retries and checksums in one place."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

from seedance_ops.storage.config import StorageLocation

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

_CONNECT_TIMEOUT_S = 5
_READ_TIMEOUT_S = 60
_ATTEMPTS = 4
_ENDPOINT_VARIABLES = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")
_REGION_VARIABLES = ("AWS_REGION", "AWS_DEFAULT_REGION")


def endpoint_of(location: StorageLocation) -> str | None:
    """The endpoint in force: the location's own, else the environment's, else ``None`` for AWS."""
    return location.endpoint_url or _first(os.environ, _ENDPOINT_VARIABLES)


def connect(location: StorageLocation) -> S3Client:
    """A client with bounded waits; credentials come from boto3's own chain."""
    import boto3
    from botocore.config import Config

    endpoint = endpoint_of(location)
    # Compatible servers differ in which of the newer checksums they know (boto3 #4392): send one only where
    # an operation requires it. AWS keeps boto3's default.
    checksums: Literal["when_required", "when_supported"] = "when_required" if endpoint else "when_supported"
    config = Config(
        connect_timeout=_CONNECT_TIMEOUT_S,
        read_timeout=_READ_TIMEOUT_S,
        retries={"mode": "standard", "total_max_attempts": _ATTEMPTS},
        request_checksum_calculation=checksums,
        response_checksum_validation=checksums,
        s3={"addressing_style": location.addressing_style},  # type: ignore[arg-type]
    )
    region = location.region or _first(os.environ, _REGION_VARIABLES) or ("us-east-1" if endpoint else None)
    return boto3.session.Session().client("s3", endpoint_url=endpoint, region_name=region, config=config)


def _first(environ: Mapping[str, str], names: tuple[str, ...]) -> str | None:
    return next((environ[name] for name in names if environ.get(name)), None)
