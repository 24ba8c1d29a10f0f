"""Where Airflow's web server shows what a run asks a person."""

from urllib.parse import quote

APPROVAL_TASK = "approval"
"""The task that asks; in jobs with a gate of severity approval only."""


def question_path(dag_id: str, run_id: str) -> str:
    """The path of a run's question, on Airflow's own server."""
    run = quote(run_id, safe="")
    return f"/dags/{quote(dag_id)}/runs/{run}/tasks/{APPROVAL_TASK}/required_actions"
