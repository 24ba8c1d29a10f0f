"""``defaults.yaml`` merges per folder, and every value keeps its origin."""

from __future__ import annotations

import pytest
import yaml

from seedance_ops.jobs.errors import JobErrors
from seedance_ops.jobs.loader import load_job_file, load_job_text
from seedance_ops.jobs.origins import annotated_yaml, origins


@pytest.fixture
def nested(project, valid):
    folder = project.jobs_folder / "team"
    folder.mkdir()
    (project.jobs_folder / "defaults.yaml").write_text(
        "limits: {retries: 7, max_preemptions: 3}\nparams: [accept]\n"
        "workload:\n  env: {A: outer, B: outer}\n",
        encoding="utf-8",
    )
    (folder / "defaults.yaml").write_text(
        "limits: {retries: 5}\nworkload: {env: {B: inner}}\n", encoding="utf-8"
    )
    path = folder / "job.yaml"
    path.write_text(valid, encoding="utf-8")
    return path


def test_the_nearest_folder_wins_and_mappings_merge_deeply(nested):
    job = load_job_file(nested).job
    assert (job.limits.retries, job.limits.max_preemptions) == (5, 3)
    assert job.workload.env == {"A": "outer", "B": "inner"}


def test_a_list_is_replaced(nested):
    assert "accept" not in load_job_file(nested).job.params


def test_every_value_names_its_file_and_line(nested, project):
    where = origins(load_job_file(nested), project.root)
    assert where["workload.env.A"] == "include/jobs/defaults.yaml:4"
    assert where["workload.env.B"] == "include/jobs/team/defaults.yaml:2"
    assert where["workload.stop.samples"] == "include/jobs/team/job.yaml:11"
    assert where["num_nodes"] == "default"


def test_the_merged_job_is_itself_a_job(nested, project):
    loaded = load_job_file(nested)
    text = annotated_yaml(loaded, project.root)
    assert yaml.safe_load(text)["limits"]["retries"] == 5
    assert load_job_text(text, nested, project=None).job.model_dump() == loaded.job.model_dump()


def test_an_error_in_the_defaults_is_placed_there(nested):
    (nested.parent / "defaults.yaml").write_text("limits: {retires: 5}\n", encoding="utf-8")
    with pytest.raises(JobErrors) as caught:
        load_job_file(nested)
    (error,) = caught.value.errors
    assert str(error.place).endswith("team/defaults.yaml:1:10")
    assert error.suggestion == "retries"


def test_defaults_of_another_folder_do_not_apply(nested, project, valid):
    path = project.jobs_folder / "job.yaml"
    path.write_text(valid, encoding="utf-8")
    assert load_job_file(path).job.limits.retries == 7
