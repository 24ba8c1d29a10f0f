"""What a run says it sent is what a proxy before the object store counted."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from seedance_ops.cost.catalogue import Price
from seedance_ops.cost.focus import Billing, focus_of, ledger_from, read_focus, write_focus
from seedance_ops.cost.ledger import check_against, ledger_of
from seedance_ops.cost.run_cost import price_runs
from seedance_ops.jobs.loader import load_job_text
from seedance_ops.jobs.manifest import RunManifest, plan_runs
from seedance_ops.jobs.profiles import LocalProfile
from seedance_ops.jobs.run_store import RunStore
from seedance_ops.launchers.base import LaunchState
from seedance_ops.launchers.record import LaunchRecord
from seedance_ops.reporting.collecting import read_run_tables
from seedance_ops.reporting.run_table import assemble
from seedance_ops.reporting.run_tables import RunTables
from seedance_ops.storage.config import StorageLocation
from seedance_ops.training.metrics.reading import read_usage
from seedance_ops.training.plan import LaunchPlan

RANKS = 2


class Proxy(ThreadingHTTPServer):
    """Passes every request on unchanged, and writes down its method, target and body's size."""

    def __init__(self, endpoint_url: str) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.behind = endpoint_url.removeprefix("http://")
        self.seen: list[tuple[str, str, int]] = []


class Handler(BaseHTTPRequestHandler):
    server: Proxy
    protocol_version = "HTTP/1.1"

    def pass_on(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.server.seen.append((self.command, self.path, len(body)))
        behind = http.client.HTTPConnection(self.server.behind, timeout=30)
        # With the host that was signed, which is the proxy's.
        behind.request(self.command, self.path, body, dict(self.headers.items()))
        answer = behind.getresponse()
        content = answer.read()
        self.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in ("content-length", "transfer-encoding", "connection", "date", "server"):
                self.send_header(name, value)
        length = answer.getheader("Content-Length", "0") if self.command == "HEAD" else str(len(content))
        self.send_header("Content-Length", length)
        self.end_headers()
        self.wfile.write(content)
        behind.close()

    do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = pass_on  # noqa: N815 - names that http.server asks for

    def log_message(self, *_arguments: object) -> None:
        """Nothing on the terminal."""


@pytest.fixture
def proxy(location: StorageLocation) -> Iterator[Proxy]:
    assert location.endpoint_url is not None
    proxy = Proxy(location.endpoint_url)
    threading.Thread(target=proxy.serve_forever, daemon=True).start()
    yield proxy
    proxy.shutdown()
    proxy.server_close()


JOB = """\
apiVersion: seedance.ops/v1
kind: TrainingJob
metadata: {name: tiny}
workload:
  entrypoint: tiny.py
  batch: {per_rank: 4}
  stop: {steps: 12}
launcher: local
resources: {accelerators: "cpu:2"}
checkpoint: {interval_steps: 5, keep: {last: 1}}
variants: {baseline: {}}
repeats: {seeds: 1}
prices:
  requests_usd_per_1000: {put: {usd: 0.005, key: put}, get: {usd: 0.0004, key: get}}
  egress_usd_per_gb: {usd: 0.09, key: egress}
"""
PRICE = Price.model_validate(
    {"key": "k", "usd_per_accelerator_hour": 0.36, "source": "made up", "date": "2026-01-02", "basis": "list"}
)
START_S = 1_700_000_000.0


@dataclass(frozen=True)
class Trained:
    """One training of one variant, and what the proxy saw of it."""

    run: RunStore
    manifest: RunManifest
    seen: list[tuple[str, str, int]]
    """Without what no part can tell of: the request that stored itself, each rank's last."""

    def puts(self) -> int:
        return sum(method == "PUT" for method, _, _ in self.seen)

    def sent_bytes(self) -> int:
        return sum(size for _, _, size in self.seen)


@pytest.fixture
def trained(
    run_ranks: Callable[..., list[int | None]], location: StorageLocation, proxy: Proxy, tmp_path: Path
) -> Trained:
    job = load_job_text(JOB, Path("tiny.yaml"), project=None).job
    run = RunStore(location, "tiny", "run-1")
    manifest = RunManifest(
        job=job,
        job_hash="0" * 64,
        source="tiny.yaml",
        run_id="run-1",
        runs=plan_runs(job, "run-1"),
        profiles={"baseline": LocalProfile(kind="local", price="k")},
        prices={"baseline": PRICE},
        planned_at_s=START_S,
    )
    plan = LaunchPlan(
        job="tiny",
        job_hash="h",
        run_id="run-1",
        variant="baseline",
        seed=0,
        submission=1,
        batch=job.workload.batch,
        stop=job.workload.stop,
        checkpoint=job.checkpoint,
        storage=run.training("baseline", 0, 1).model_copy(
            update={"endpoint_url": f"http://127.0.0.1:{proxy.server_address[1]}"}
        ),
    )
    plan.write(tmp_path / "plan.json")
    environment = {"SEEDANCE_PLAN": str(tmp_path / "plan.json"), "SEEDANCE_WORKSPACE": str(tmp_path)}
    codes = run_ranks("tiny.py", RANKS, tmp_path / "log", environment)
    assert codes == [0] * RANKS, (tmp_path / "log").read_text()
    parts = [path for method, path, _ in proxy.seen if method == "PUT" and "/usage/" in path]
    last = {max(path for path in parts if f"rank-{rank:04d}" in path) for rank in range(RANKS)}
    seen = [request for request in proxy.seen if request[1] not in last]
    assert len(seen) == len(proxy.seen) - RANKS
    return Trained(run, manifest, seen)


def test_requests_and_bytes_are_those_that_the_store_saw(trained: Trained) -> None:
    table = read_usage(trained.run.training_objects("baseline", 0, 1)).to_pylist()
    rows = [row for row in table if row["quantity"] is not None]
    counted = {
        kind: sum(row["quantity"] for row in rows if row["tier"] == kind)
        for kind in ("put", "get", "list", "delete")
    }
    assert counted == {
        "put": trained.puts(),
        "get": sum(m in ("GET", "HEAD") and "list-type" not in path for m, path, _ in trained.seen),
        "list": sum("list-type" in path for _, path, _ in trained.seen),
        "delete": sum(method == "POST" for method, _, _ in trained.seen),  # several objects at once
    }
    assert counted["put"] > 20
    assert counted["delete"] > 0
    egress = [row for row in rows if row["component"] == "egress"]
    assert sum(row["quantity"] for row in egress) * 1e9 == pytest.approx(trained.sent_bytes())
    checkpoints = sum(size for _, path, size in trained.seen if "/checkpoints/" in path)
    while_saving = sum(row["quantity"] for row in egress if row["stage"] == "checkpoint")
    assert while_saving * 1e9 == pytest.approx(checkpoints, rel=0.05)  # and what it deleted
    assert {row["rank"] for row in rows} == set(range(RANKS))


def test_the_bill_has_what_the_store_saw_and_still_adds_up(trained: Trained, tmp_path: Path) -> None:
    record = LaunchRecord(
        name="n", job="tiny", run_id="run-1", variant="baseline", seed=0, take=1, submission=1, order=0,
        launcher="local", accelerator="cpu", num_nodes=1, processes_per_node=RANKS,
        state=LaunchState.SUCCEEDED, submitted_at_s=START_S, started_at_s=START_S,
        ended_at_s=START_S + 3600.0,
    )  # fmt: skip
    store = trained.run.training_objects("baseline", 0, 1)
    store.put("launches/submission-001.json", record.model_dump_json().encode())
    trained.run.write_stamp({"job": "tiny"})
    read_run_tables(trained.run, trained.manifest).write(trained.run)

    tables, manifest = RunTables.read(trained.run), trained.manifest
    table = assemble(manifest, tables)
    assert table.missing == ()
    terms = manifest.job.prices
    writes = tables.checkpoint_writes
    ledger = ledger_of(table.frame, tables.launches, writes, manifest.prices, other=terms, usage=tables.usage)
    check_against(ledger, price_runs(table.frame, tables.launches, manifest.prices))
    of = ledger.groupby(["component", "tier"])[["quantity", "cost_usd"]].sum()
    assert of.loc[("requests", "put"), "quantity"] == pytest.approx(trained.puts() / 1000)
    assert of.loc[("egress", "-"), "quantity"] == pytest.approx(trained.sent_bytes() / 1e9)
    assert of.loc[("egress", "-"), "cost_usd"] == pytest.approx(0.09 * trained.sent_bytes() / 1e9)
    # One hour of two cores, and what was sent.
    rest = 0.005 * of.loc[("requests", "put"), "quantity"] + 0.0004 * of.loc[("requests", "get"), "quantity"]
    assert ledger["cost_usd"].sum() == pytest.approx(0.72 + rest + of.loc[("egress", "-"), "cost_usd"])

    exported = focus_of(ledger, Billing(account_id="a", provider="p"), job="tiny", run_id="run-1", decimals=9)
    write_focus(exported, tmp_path / "bill.parquet")
    back = ledger_from(read_focus(tmp_path / "bill.parquet"))
    assert back["cost_usd"].sum() == pytest.approx(ledger["cost_usd"].sum(), abs=1e-8)
    assert set(back["component"]) >= {"requests", "egress"}
