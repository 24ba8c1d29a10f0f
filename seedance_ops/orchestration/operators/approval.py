"""Between report and verdict: a person decides what no gate lets pass by itself."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Literal

from airflow.providers.standard.operators.hitl import HITLOperator
from airflow.sdk import Context
from airflow.sdk.exceptions import AirflowFailException

from seedance_ops.orchestration.links import ReportLink
from seedance_ops.orchestration.operators.report import results_of, write_report
from seedance_ops.orchestration.operators.stage import StageOperator
from seedance_ops.orchestration.question_path import APPROVAL_TASK
from seedance_ops.orchestration.report_path import report_path
from seedance_ops.quality.approvals import REJECT, Approvals, approvals_of, options_for

if TYPE_CHECKING:
    from seedance_ops.jobs.approval import ApprovalTerms
    from seedance_ops.jobs.run_store import RunStore
    from seedance_ops.quality.results import Verdict


class AskForApprovalOperator(StageOperator, HITLOperator):
    """Ask about every variant that fails gates of severity ``approval`` alone, and write down the answer.

    One question for all of them, in which each can be chosen by itself: variants differ in what they save and
    what they spoil, so one yes or no for all would make a person reject the one for the other's sake. Where
    there is nothing to ask, the task succeeds at once.

    Args:
        terms: Deadline, who may answer, and what holds when nobody does.
    """

    template_fields = StageOperator.template_fields
    operator_extra_links = (ReportLink(),)

    def __init__(self, *, terms: ApprovalTerms, job_name: str, **kwargs: Any) -> None:
        super().__init__(
            task_id=APPROVAL_TASK,
            job_name=job_name,
            subject=f"{job_name}: accept what does not hold every gate?",
            options=[REJECT],
            defaults=[REJECT] if terms.on_timeout == "reject" else None,
            assigned_users=[{"id": name, "name": name} for name in terms.assignees or ()] or None,
            response_timeout=timedelta(seconds=terms.deadline_s),
            **kwargs,
        )
        self.on_timeout: Literal["reject", "fail"] = terms.on_timeout

    def execute(self, context: Context) -> dict[str, str]:
        """Wait for a person; returns at once, with no decision, where none is needed."""
        run = self.run_store(context)
        run.forget("approvals.json")
        waiting = () if self.stages_not_done(context) else self._waiting(run)
        if not waiting:
            self.log.info("There is nothing that a person has to decide")
            return {}
        self._offer(waiting)
        self.body = question_of(
            waiting,
            report=report_path(context["ti"].dag_id, context["run_id"]),
            deadline=datetime.now(UTC) + (self.response_timeout or timedelta()),
            on_timeout=self.on_timeout,
        )
        super().execute(context)
        return {}

    def execute_complete(self, context: Context, event: dict[str, Any]) -> dict[str, str]:
        """Write ``approvals.json`` and the report with it; returns what was decided about each variant."""
        run = self.run_store(context)
        waiting = self._waiting(run)
        self._offer(waiting)
        nobody = event.get("error_type") == "timeout"
        answer = {} if nobody else dict(super().execute_complete(context, event))
        user = answer.get("responded_by_user") or {}
        approvals = approvals_of(
            waiting,
            answer.get("chosen_options", ()),
            by=user.get("name"),
            by_id=user.get("id"),
            at=answer.get("responded_at"),
        )
        approvals = approvals.model_copy(update={"fails_the_run": nobody})
        self._record(run, approvals)
        for approval in approvals.approvals:
            self.log.info("%s: %s by %s", approval.variant, approval.decision, approval.by or "nobody")
        if nobody:
            raise AirflowFailException("nobody answered by the deadline (approval.on_timeout: fail)")
        return {approval.variant: approval.decision for approval in approvals.approvals}

    def _offer(self, waiting: tuple[Verdict, ...]) -> None:
        """The choice as it is for these variants; the DAG was parsed before they were known."""
        self.options = options_for(waiting)
        self.multiple = len(waiting) > 1

    @staticmethod
    def _waiting(run: RunStore) -> tuple[Verdict, ...]:
        from seedance_ops.quality.results import GateResults

        results = run.read("gates.json", GateResults)
        return tuple(verdict for verdict in results.verdicts if verdict.outcome == "needs_approval")

    def _record(self, run: RunStore, approvals: Approvals) -> None:
        """Keep the answer, and bring what is read of the run up to it: report and history."""
        from seedance_ops.cost.run_cost import with_costs
        from seedance_ops.planning.history import History
        from seedance_ops.planning.recording import record_of

        run.write("approvals.json", approvals)
        manifest = run.manifest()
        write_report(run, manifest)
        runs = with_costs(run.frame("runs"), run.frame("costs"))
        History(self.base, self.job_name).append(record_of(manifest, run.stamp(), results_of(run), runs))


def question_of(
    waiting: tuple[Verdict, ...], *, report: str, deadline: datetime, on_timeout: Literal["reject", "fail"]
) -> str:
    """What a person reads before they answer, as Markdown.

    Args:
        waiting: The variants in question.
        report: Where the report is, on Airflow's own server.
        deadline: Until when an answer counts.
        on_timeout: What happens then.
    """
    from seedance_ops.reporting.markdown import escaped

    otherwise = "none of them is accepted" if on_timeout == "reject" else "the run fails"
    findings = [
        f"- **{escaped(verdict.variant)}**\n"
        + "\n".join(f"    - {escaped(sentence)}" for sentence in verdict.asked)
        for verdict in waiting
    ]
    return "\n\n".join(
        [
            "These variants hold every gate of severity error, and not these of severity approval:",
            "\n".join(findings),
            f"[The report]({report}) has the figures. A variant that is not chosen is rejected; "
            f"`{REJECT}` rejects all.",
            f"Without an answer by {deadline:%Y-%m-%d %H:%M} UTC {otherwise}.",
        ]
    )
