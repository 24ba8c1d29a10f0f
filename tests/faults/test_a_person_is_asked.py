"""A run that waits for a person, who answers over the API; it takes two minutes: `make slow`."""

from __future__ import annotations

import json
import os
import time

import httpx
import pytest

from seedance_ops.orchestration.client import AirflowClient
from seedance_ops.orchestration.embedded.settings import USER
from seedance_ops.quality.approvals import Approvals
from tests.airflow_under_test import AirflowUnderTest, until

pytestmark = pytest.mark.skipif(
    not os.environ.get("SEEDANCE_SLOW"), reason="NOT CHECKED: takes two minutes; run `make slow`"
)
TAKES_NOTE_S = 5.0
"""An answer within a second of the question meets a scheduler that has not yet noted that the asking process
ended: it takes the resumed task for a dead one and asks again. No person is so fast."""
NAME = "asks-a-person"
JOB = f"""
apiVersion: seedance.ops/v1
kind: TrainingJob
metadata: {{name: {NAME}, owner: tests}}
workload:
  workdir: examples
  command: [python, plain_command.py]
  args: {{iterations: 1000}}
  runtime: none
  launch: none
  quality: {{metric: error, better: lower}}
launcher: local
variants:
  baseline: {{}}
  half:
    set: {{workload.args.iterations: 500}}
repeats: {{seeds: 3}}
unequal_work: allowed
gates:
  - {{metric: run_s, at_most: 600}}
  - {{metric: error, compared_to: baseline, equivalent_within: {{absolute: 0.000001}}, severity: approval}}
"""


def answer(client: AirflowClient, run_id: str, option: str) -> httpx.Response:
    path = f"/api/v2/dags/{NAME}/dagRuns/{run_id}/taskInstances/approval/-1/hitlDetails"
    return httpx.patch(
        f"{client.question_url(NAME, run_id).partition('/dags/')[0]}{path}",
        json={"chosen_options": [option]},
        headers=client.authorization,
        timeout=30,
    )


def test_a_variant_is_accepted_once_a_person_has_approved_it(airflow: AirflowUnderTest) -> None:
    airflow.add_job(NAME, JOB)
    run_id = airflow.trigger(NAME)
    until(lambda: airflow.states(NAME, run_id).get("approval") == "awaiting_input")
    asked = json.loads(airflow.client.report(NAME, run_id, "json") or "")
    assert [verdict["outcome"] for verdict in asked["verdicts"] if not verdict["of_baseline"]] == [
        "needs_approval"
    ]

    time.sleep(TAKES_NOTE_S)
    assert answer(airflow.client, run_id, "Approve topk").status_code == httpx.codes.BAD_REQUEST
    answer(airflow.client, run_id, "Approve half").raise_for_status()

    assert airflow.wait(NAME, run_id, 120) == "success"
    (approval,) = airflow.run_store(NAME, run_id).read("approvals.json", Approvals).approvals
    assert (approval.variant, approval.decision, approval.by_id) == ("half", "approved", USER)
    report = json.loads(airflow.client.report(NAME, run_id, "json") or "")
    (verdict,) = (verdict for verdict in report["verdicts"] if not verdict["of_baseline"])
    assert report["accepted"]
    assert verdict["reasons"][0].startswith("approved by ")
