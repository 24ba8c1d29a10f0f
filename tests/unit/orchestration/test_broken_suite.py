"""A misspelt data expectation stops a run before anything is paid for."""

from __future__ import annotations

from pathlib import Path

import pytest
from airflow.sdk.exceptions import AirflowFailException

from seedance_ops.jobs.training_job import TrainingJob
from seedance_ops.orchestration.operators.plan import PlanOperator
from tests.unit.planning.test_estimate import JOB


def test_plan_names_the_place_and_another_try_is_not_made(tmp_path: Path) -> None:
    folder = tmp_path / "include/expectations"
    folder.mkdir(parents=True)
    (folder / "mine.yaml").write_text("expectations:\n  - {type: expect_nothing}\n", encoding="utf-8")
    plan = PlanOperator(
        task_id="plan", job=TrainingJob.model_validate(JOB), source="job.yaml", project=str(tmp_path)
    )
    with pytest.raises(AirflowFailException, match=r"mine\.yaml:2:12"):
        plan._refuse_a_broken_suite()
