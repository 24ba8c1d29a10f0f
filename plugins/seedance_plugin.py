"""Airflow plugin: the report page and the link to it. The logic is in the package."""

from __future__ import annotations

from typing import Any, ClassVar

from airflow.plugins_manager import AirflowPlugin

from seedance_ops.orchestration.links import ReportLink
from seedance_ops.orchestration.report_page import report_app
from seedance_ops.orchestration.report_path import PREFIX


class SeedancePlugin(AirflowPlugin):
    """What the web server learns from this project."""

    name = "seedance"
    fastapi_apps: ClassVar[list[Any]] = [
        {"app": report_app(), "url_prefix": PREFIX, "name": "Seedance reports"}
    ]
    operator_extra_links: ClassVar[list[Any]] = [ReportLink()]
