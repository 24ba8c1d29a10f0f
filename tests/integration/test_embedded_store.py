"""The embedded store is a real server that authenticates, keeps its data, and is found again."""

from __future__ import annotations

import os
import signal
import socket
from pathlib import Path

import boto3
import psutil
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from seedance_ops.loopback import is_free
from seedance_ops.storage import server
from seedance_ops.storage.server import EmbeddedStore, EmbeddedStoreError, StoreRecord


def client(record: StoreRecord, secret: str | None = None):
    return boto3.client(
        "s3",
        endpoint_url=record.endpoint_url,
        region_name="us-east-1",
        aws_access_key_id=record.access_key,
        aws_secret_access_key=secret or record.secret_key,
        config=Config(retries={"total_max_attempts": 1}),
    )


@pytest.fixture
def embedded(tmp_path: Path):
    store = EmbeddedStore(tmp_path / "store")
    yield store
    store.down()


def test_it_survives_kill_9_with_its_data_and_its_address(embedded: EmbeddedStore) -> None:
    first = embedded.up()
    client(first).create_bucket(Bucket="kept")
    client(first).put_object(Bucket="kept", Key="answer", Body=b"42")
    assert first.pid is not None
    os.kill(first.pid, signal.SIGKILL)

    second = embedded.up()  # at once: the old one may still hold its ports

    assert second.endpoint_url == first.endpoint_url
    assert client(second).get_object(Bucket="kept", Key="answer")["Body"].read() == b"42"


def test_a_port_taken_while_it_starts_costs_another_start(
    embedded: EmbeddedStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as stranger:
        stranger.bind(("127.0.0.1", 0))
        stranger.listen()
        taken = server._free_ports()
        taken["s3"] = stranger.getsockname()[1]
        offered = iter([taken])
        real = server._free_ports
        monkeypatch.setattr(server, "_free_ports", lambda: next(offered, None) or real())
        # Our own look comes too early to see the stranger.
        looks = iter([True] * 8)
        monkeypatch.setattr(server, "is_free", lambda port: next(looks, None) or is_free(port))
        record = embedded.up()
        assert record.ports["s3"] != taken["s3"]
        assert client(record).list_buckets()["Buckets"] == []


def test_a_second_up_finds_the_running_server_and_down_leaves_no_process(embedded: EmbeddedStore) -> None:
    first = embedded.up()
    assert embedded.up().pid == first.pid
    assert embedded.down() is True
    assert first.process() is None
    assert embedded.down() is False


def test_it_refuses_wrong_keys_and_strangers_on_the_network(store_server: StoreRecord) -> None:
    with pytest.raises(ClientError, match="SignatureDoesNotMatch"):
        client(store_server, secret="wrong").list_buckets()
    listening = {
        connection.laddr.ip
        for connection in psutil.Process(store_server.pid).net_connections(kind="tcp")
        if connection.status == psutil.CONN_LISTEN
    }
    assert listening == {"127.0.0.1"}


def test_keys_are_readable_by_their_owner_only(embedded: EmbeddedStore, tmp_path: Path) -> None:
    embedded.up()
    modes = {path.name: path.stat().st_mode & 0o077 for path in (tmp_path / "store").glob("*.json")}
    assert set(modes) == {"store.json", "identities.json"}
    assert set(modes.values()) == {0}


def test_a_record_that_is_not_one_is_named(tmp_path: Path) -> None:
    (tmp_path / "store.json").write_text("{}", encoding="utf-8")
    with pytest.raises(EmbeddedStoreError, match=r"store\.json"):
        EmbeddedStore(tmp_path).up()
