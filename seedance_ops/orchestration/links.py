"""From a task to its run's report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow.sdk import BaseOperator, BaseOperatorLink

from seedance_ops.orchestration.report_path import report_path

if TYPE_CHECKING:
    from airflow.sdk.types import TaskInstanceKey


class ReportLink(BaseOperatorLink):
    """The button "Report" on a task."""

    @property
    def name(self) -> str:
        """The button's label."""
        return "Report"

    def get_link(self, operator: BaseOperator, *, ti_key: TaskInstanceKey) -> str:
        """The report page of the task's run, on Airflow's own server."""
        del operator
        return report_path(ti_key.dag_id, ti_key.run_id)
