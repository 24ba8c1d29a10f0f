"""Where Airflow's web server shows a run's report."""

from urllib.parse import quote

PREFIX = "/seedance"


def report_path(dag_id: str, run_id: str) -> str:
    """The path of a run's report, on Airflow's own server."""
    return f"{PREFIX}/report/{quote(dag_id)}/{quote(run_id, safe='')}"
