"""The object store as an Airflow connection, or the usual AWS environment where there is none."""

from __future__ import annotations

import os
from functools import cached_property

from airflow.sdk import BaseHook
from airflow.sdk.exceptions import AirflowNotFoundException

from seedance_ops.storage.config import DEFAULT_URI, URI_VARIABLE, StorageLocation

DEFAULT_CONN_ID = "seedance_storage"


class StorageHook(BaseHook):
    """Where runs are kept, and the variables that let boto3 reach it.

    Args:
        conn_id: An Airflow connection of type ``aws``: login and password are the keys, the extras
            ``endpoint_url``, ``region_name`` and ``uri`` (``s3://bucket/prefix``) the rest. Where there is
            no such connection, ``AWS_*`` and ``SEEDANCE_STORAGE_URI`` of the worker's environment count.
    """

    def __init__(self, *, conn_id: str = DEFAULT_CONN_ID) -> None:
        super().__init__()
        self._conn_id = conn_id

    @property
    def location(self) -> StorageLocation:
        """The base below which every job has its folder."""
        return StorageLocation(
            uri=self._extra.get("uri") or os.environ.get(URI_VARIABLE) or DEFAULT_URI,
            endpoint_url=self._extra.get("endpoint_url")
            or os.environ.get("AWS_ENDPOINT_URL_S3")
            or os.environ.get("AWS_ENDPOINT_URL"),
            region=self._extra.get("region_name")
            or os.environ.get("AWS_REGION")
            or os.environ.get("AWS_DEFAULT_REGION"),
        )

    def activate(self) -> None:
        """Let this task's process, which is its own, and what it launches sign in to the store."""
        connection = self._connection
        if connection is None or not connection.login:
            return
        os.environ["AWS_ACCESS_KEY_ID"] = connection.login
        os.environ["AWS_SECRET_ACCESS_KEY"] = connection.password or ""
        # An inherited session token would be sent along with keys that it does not belong to.
        os.environ.pop("AWS_SESSION_TOKEN", None)
        if token := self._extra.get("aws_session_token"):
            os.environ["AWS_SESSION_TOKEN"] = token

    @cached_property
    def _connection(self):  # type: ignore[no-untyped-def]
        try:
            return self.get_connection(self._conn_id)
        except AirflowNotFoundException:
            return None

    @property
    def _extra(self) -> dict[str, str]:
        return dict(self._connection.extra_dejson) if self._connection else {}
