"""From a task to its run's report."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

from airflow.sdk import BaseOperator, BaseOperatorLink

if TYPE_CHECKING:
    from airflow.sdk.bases.operatorlink import TaskInstanceKey

REPORT_PATH = "/seedance/report"


class ReportLink(BaseOperatorLink):
    """The button "Report" on a task."""

    @property
    def name(self) -> str:
        """The button's label."""
        return "Report"

    def get_link(self, operator: BaseOperator, *, ti_key: TaskInstanceKey) -> str:
        """The report page of the task's run, on Airflow's own server."""
        del operator
        return f"{REPORT_PATH}/{quote(ti_key.dag_id)}/{quote(ti_key.run_id, safe='')}"
