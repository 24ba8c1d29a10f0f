"""Makes the boto3 client for a location: endpoint, region, timeouts, retries and checksums in one place."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Literal

from seedance_ops.storage.config import StorageLocation

if TYPE_CHECKING:
    import boto3
    from botocore.loaders import Loader
    from mypy_boto3_s3 import S3Client

_CONNECT_TIMEOUT_S = 5
_READ_TIMEOUT_S = 60
_ATTEMPTS = 4
_ENDPOINT_VARIABLES = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")
_REGION_VARIABLES = ("AWS_REGION", "AWS_DEFAULT_REGION")


def endpoint_of(location: StorageLocation) -> str | None:
    """The endpoint in force: the location's own, else the environment's, else ``None`` for AWS."""
    return location.endpoint_url or _first(os.environ, _ENDPOINT_VARIABLES)


def region_of(location: StorageLocation) -> str | None:
    """The region in force: the location's own, else the environment's, else any for a compatible server."""
    found = location.region or _first(os.environ, _REGION_VARIABLES)
    return found or ("us-east-1" if endpoint_of(location) else None)


def connect(location: StorageLocation) -> S3Client:
    """A client with bounded waits; credentials come from boto3's own chain."""
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
    return session().client("s3", endpoint_url=endpoint, region_name=region_of(location), config=config)


def session() -> boto3.session.Session:
    """One of its own for each client, since a session keeps the credentials that it has found first."""
    import boto3
    import botocore.session

    own, loader = botocore.session.Session(), _loader()
    own.register_component("data_loader", loader)
    session = boto3.session.Session(botocore_session=own)
    loader.search_paths[:] = dict.fromkeys(loader.search_paths)  # every session adds boto3's
    return session


@cache
def _loader() -> Loader:
    """Reads and keeps what botocore knows of S3 and its endpoints: a tenth of a second of parsing JSON."""
    import botocore.session

    loader: Loader = botocore.session.Session().get_component("data_loader")
    return loader


def _first(environ: Mapping[str, str], names: tuple[str, ...]) -> str | None:
    return next((environ[name] for name in names if environ.get(name)), None)
