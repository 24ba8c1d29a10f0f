"""Every day: has the cost or the quality of a job drifted, and what changed where it did?"""

from __future__ import annotations

from airflow.sdk import DAG

from seedance_ops.orchestration.operators.drift import DriftOperator

with DAG(
    dag_id="seedance-drift",
    description="Change points in the history of every job, lined up with what changed between its runs",
    schedule="@daily",
    catchup=False,
    tags=["seedance"],
    default_args={"owner": "ml-platform", "retries": 1},
    doc_md=__doc__,
) as dag:
    DriftOperator(task_id="look_for_drift")
