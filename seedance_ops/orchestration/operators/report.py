"""The last two stages: what people read, and whether the run succeeds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow.sdk import Asset, Context
from airflow.sdk.exceptions import AirflowFailException

from seedance_ops.jobs.manifest import RESERVED, RunManifest
from seedance_ops.jobs.run_store import RunStore
from seedance_ops.orchestration.links import ReportLink
from seedance_ops.orchestration.operators.stage import STAGES, StageOperator
from seedance_ops.orchestration.question_path import APPROVAL_TASK

if TYPE_CHECKING:
    from pydantic import JsonValue

    from seedance_ops.quality.results import GateResults
    from seedance_ops.reporting.report import Report


class ReportOperator(StageOperator):
    """Write ``report.html`` and ``report.json``, also when stages before it failed: then it says which."""

    operator_extra_links = (ReportLink(),)

    def execute(self, context: Context) -> dict[str, Any]:
        """Returns the location of the report's folder, for the page that shows it."""
        from seedance_ops.reporting.report import failed_report

        run = self.run_store(context)
        manifest = self.manifest_of(run)
        if problems := self.stages_not_done(context):
            self.log.warning("Nothing to judge: %s", ", ".join(problems))
            _write(
                run,
                failed_report(
                    manifest,
                    _stamp(run),
                    [f"stage {problem}" for problem in problems],
                    screening=run.screening(),
                ),
            )
        else:
            write_report(run, manifest)
        folder = run.location.child(RESERVED)
        self.log.info("Report: %s/report.html", folder.uri)
        return folder.model_dump(mode="json")


class VerdictOperator(StageOperator):
    """The only leaf: fails the run by the job's ``accept``, and sends an accepted result out as an asset."""

    operator_extra_links = (ReportLink(),)
    stages = (*STAGES, APPROVAL_TASK)

    def execute(self, context: Context) -> dict[str, str]:
        """Returns each variant's verdict; raises where the job does not accept them."""
        if problems := self.stages_not_done(context):
            raise AirflowFailException(f"nothing to judge: {', '.join(problems)}")
        run = self.run_store(context)
        results = results_of(run)
        verdicts = {verdict.variant: str(verdict.outcome) for verdict in results.verdicts}
        for verdict in results.verdicts:
            self.log.info("%s: %s", verdict.variant, verdict.summary)
        if not results.accepted:
            raise AirflowFailException(f"not accepted (accept: {results.accept}): {verdicts}")
        self._publish(context, run, [v.variant for v in results.verdicts if v.is_accepted])
        return verdicts

    def _publish(self, context: Context, run: RunStore, accepted: list[str]) -> None:
        if not accepted:
            return
        base = run.location.uri.rpartition("/")[0]
        extra: dict[str, JsonValue] = {
            "run_id": context["run_id"],
            "report": run.location.child(RESERVED, "report.html").uri,
            "accepted": [*accepted],
        }
        for alias in self.outlets:
            context["outlet_events"][alias].add(Asset(name=self.job_name, uri=base), extra=extra)


def write_report(run: RunStore, manifest: RunManifest) -> None:
    """Write the report of a run that was judged, with what a person has answered so far."""
    _write(run, _whole_report(run, manifest))


def results_of(run: RunStore) -> GateResults:
    """What the gates say, and where a person was asked, what that person said."""
    from seedance_ops.quality.approvals import answered, answers_in
    from seedance_ops.quality.results import GateResults

    return answered(run.read("gates.json", GateResults), answers_in(run))


def _write(run: RunStore, report: Report) -> None:
    from seedance_ops.reporting.report import render_html

    run.write("report.json", report)
    run.write_text("report.html", render_html(report))


def _whole_report(run: RunStore, manifest: RunManifest) -> Report:
    from seedance_ops.quality.missing import MissingRuns
    from seedance_ops.quality.statistics import Statistics
    from seedance_ops.reporting.auto_choices import auto_choices
    from seedance_ops.reporting.report import build_report
    from seedance_ops.reporting.run_table import RunTable
    from seedance_ops.reporting.run_tables import RunTables

    return build_report(
        manifest,
        run.stamp(),
        RunTables.read(run, curves_only=True),
        RunTable(frame=run.frame("runs"), missing=run.read("missing.json", MissingRuns).runs),
        run.frame("costs"),
        run.read("statistics.json", Statistics),
        results_of(run),
        ledger=run.frame("ledger"),
        screening=run.screening(),
        auto=auto_choices(run, manifest),
    )


def _stamp(run: RunStore) -> dict[str, str]:
    from seedance_ops.storage.errors import ObjectMissing

    try:
        return run.stamp()
    except ObjectMissing:
        return {}
