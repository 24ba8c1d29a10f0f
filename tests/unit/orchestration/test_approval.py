"""The task that asks a person: only where a job wants it, and only about what a person can decide."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from airflow.sdk.exceptions import AirflowFailException, TaskAwaitingInput

from seedance_ops.jobs.approval import ApprovalTerms
from seedance_ops.orchestration.build import build_dag
from seedance_ops.orchestration.operators import approval as asking
from seedance_ops.orchestration.operators.approval import AskForApprovalOperator
from seedance_ops.quality.approvals import Approvals
from seedance_ops.quality.results import GateResults, Verdict

PROJECT = Path(__file__).resolve().parents[3]
AT = datetime(2026, 1, 2, 10, 0, tzinfo=UTC)
CONTEXT: Any = {
    "ti": SimpleNamespace(dag_id="tiny", id="1"),
    "task_instance": SimpleNamespace(id="1"),
    "run_id": "r",
}


def dag_of(severity: str) -> Any:
    job = yaml.safe_load((PROJECT / "include/jobs/char_gpt.yaml").read_text(encoding="utf-8"))
    job["gates"][0]["severity"] = severity
    text = yaml.safe_dump(job, sort_keys=False)
    return build_dag(text, source="include/jobs/char_gpt.yaml", project=str(PROJECT))


def test_a_job_that_asks_has_the_task_between_report_and_verdict() -> None:
    dag = dag_of("approval")
    task = dag.get_task("approval")
    assert task.upstream_task_ids == {"report"}
    assert task.downstream_task_ids == {"verdict"}
    assert task.response_timeout.total_seconds() == 86_400


def test_a_job_that_does_not_ask_has_none() -> None:
    assert not dag_of("error").has_task("approval")


class Store:
    """The documents of a run, in memory."""

    def __init__(self, *variants: tuple[str, str]) -> None:
        verdicts = tuple(
            Verdict(variant=name, outcome=outcome, asked=("loss < 1",))  # type: ignore[arg-type]
            for name, outcome in variants
        )
        self.documents: dict[str, Any] = {
            "gates.json": GateResults(accept="any", accepted=False, verdicts=verdicts, gates=())
        }

    def read(self, name: str, _: type) -> Any:
        return self.documents[name]

    def write(self, name: str, document: Any) -> None:
        self.documents[name] = document

    def forget(self, *names: str) -> None:
        for name in names:
            self.documents.pop(name, None)


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[dict[str, Any]]]:
    """What was asked of Airflow."""
    calls: list[dict[str, Any]] = []
    monkeypatch.setattr(
        "airflow.providers.standard.operators.hitl.upsert_hitl_detail", lambda **call: calls.append(call)
    )
    return calls


def operator(
    monkeypatch: pytest.MonkeyPatch, store: Store, *, not_done: tuple[str, ...] = (), **terms: Any
) -> AskForApprovalOperator:
    task = AskForApprovalOperator(terms=ApprovalTerms(**terms), job_name="tiny")
    monkeypatch.setattr(AskForApprovalOperator, "run_store", lambda *_: store)
    monkeypatch.setattr(AskForApprovalOperator, "stages_not_done", lambda *_: list(not_done))
    monkeypatch.setattr(
        AskForApprovalOperator, "_record", lambda _, run, found: run.write("approvals.json", found)
    )
    return task


@pytest.mark.parametrize("outcome", ["accepted", "rejected", "not_judgeable"])
def test_where_there_is_nothing_to_decide_nobody_is_asked(outcome, monkeypatch, sent):
    assert operator(monkeypatch, Store(("topk", outcome))).execute(CONTEXT) == {}
    assert sent == []


def test_after_a_stage_that_failed_nobody_is_asked(monkeypatch, sent):
    store = Store(("topk", "needs_approval"))
    assert operator(monkeypatch, store, not_done=("quality_gate: failed",)).execute(CONTEXT) == {}
    assert sent == []


def test_the_question_names_variant_finding_report_and_deadline(monkeypatch, sent):
    store = Store(("topk", "needs_approval"), ("bf16", "rejected"))
    with pytest.raises(TaskAwaitingInput):
        operator(monkeypatch, store, deadline="2h", assignees=("ada",)).execute(CONTEXT)
    (question,) = sent
    assert question["options"] == ["Approve topk", "Reject"]
    assert question["defaults"] == ["Reject"]
    assert question["assigned_users"] == [{"id": "ada", "name": "ada"}]
    assert not question["multiple"]
    for part in ("**topk**", "loss &lt; 1", "(/seedance/report/tiny/r)", "UTC none of them is accepted"):
        assert part in question["body"]
    assert "bf16" not in question["body"]


def test_several_variants_are_one_question_with_several_answers(monkeypatch, sent):
    store = Store(("topk", "needs_approval"), ("bf16", "needs_approval"))
    with pytest.raises(TaskAwaitingInput):
        operator(monkeypatch, store).execute(CONTEXT)
    assert sent[0]["multiple"]
    assert sent[0]["options"] == ["Approve topk", "Approve bf16", "Reject"]


def test_an_earlier_answer_is_forgotten_before_a_new_question(monkeypatch, sent):
    store = Store(("topk", "needs_approval"))
    store.write("approvals.json", Approvals())
    with pytest.raises(TaskAwaitingInput):
        operator(monkeypatch, store).execute(CONTEXT)
    assert "approvals.json" not in store.documents


def event(*chosen: str, user: dict[str, str] | None) -> dict[str, Any]:
    return {
        "chosen_options": list(chosen),
        "params_input": {},
        "responded_at": AT,
        "responded_by_user": user,
        "timedout": user is None,
    }


def test_the_answer_is_kept_with_name_and_time(monkeypatch):
    store = Store(("topk", "needs_approval"))
    answer = event("Approve topk", user={"id": "7", "name": "Ada"})
    assert operator(monkeypatch, store).execute_complete(CONTEXT, answer) == {"topk": "approved"}
    (approval,) = store.documents["approvals.json"].approvals
    assert (approval.by, approval.by_id, approval.at, approval.asked) == ("Ada", "7", AT, ("loss < 1",))


def test_the_default_that_nobody_chose_is_no_answer(monkeypatch):
    store = Store(("topk", "needs_approval"))
    answer = event("Reject", user=None)
    assert operator(monkeypatch, store).execute_complete(CONTEXT, answer) == {"topk": "unanswered"}


def test_a_deadline_may_fail_the_run(monkeypatch):
    store = Store(("topk", "needs_approval"))
    task = operator(monkeypatch, store, on_timeout="fail")
    assert task.defaults is None
    with pytest.raises(AirflowFailException, match="nobody answered"):
        task.execute_complete(CONTEXT, {"error": "late", "error_type": "timeout"})
    assert [found.decision for found in store.documents["approvals.json"].approvals] == ["unanswered"]


def test_an_option_that_was_not_offered_is_refused(monkeypatch):
    store = Store(("topk", "needs_approval"))
    with pytest.raises(ValueError, match="not in"):
        operator(monkeypatch, store).execute_complete(
            CONTEXT, event("Approve bf16", user={"id": "7", "name": "A"})
        )
    assert "approvals.json" not in store.documents


def test_the_module_knows_the_question_of_a_run_that_fails() -> None:
    verdict = Verdict(variant="topk", outcome="needs_approval", asked=("loss",))
    body = asking.question_of((verdict,), report="/r", deadline=AT, on_timeout="fail")
    assert "Without an answer by 2026-01-02 10:00 UTC the run fails." in body
