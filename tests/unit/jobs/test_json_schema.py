"""The published schemas are in step with the models, valid, and accept the example jobs."""

from __future__ import annotations

from pathlib import Path

import jsonschema
import pytest
import yaml

from seedance_ops.jobs.json_schema import SCHEMA_MODELS, json_schema, schema_file_name, schema_text

INCLUDE = Path(__file__).parents[3] / "include"
JOB_FILES = [path for path in sorted((INCLUDE / "jobs").rglob("*.yaml")) if path.name != "defaults.yaml"]


@pytest.mark.parametrize("kind", SCHEMA_MODELS)
def test_the_file_is_in_step_with_the_model(kind):
    stored = (INCLUDE / "schemas" / schema_file_name(kind)).read_text(encoding="utf-8")
    assert stored == schema_text(kind), "run: seedance schema --write include/schemas"


@pytest.mark.parametrize("kind", SCHEMA_MODELS)
def test_it_is_a_schema_of_draft_2020_12(kind):
    assert json_schema(kind)["$schema"].endswith("2020-12/schema")
    jsonschema.Draft202012Validator.check_schema(json_schema(kind))


@pytest.mark.parametrize("path", JOB_FILES, ids=lambda path: path.name)
def test_it_accepts_the_example_jobs(path):
    job = yaml.safe_load(path.read_text(encoding="utf-8"))
    jsonschema.validate(job, json_schema(job["kind"]))


@pytest.mark.parametrize("path", (INCLUDE / "published").glob("*.yaml"), ids=lambda path: path.name)
def test_it_accepts_the_published_figures(path):
    figures = yaml.safe_load(path.read_text(encoding="utf-8"))
    figures["publication"]["read_on"] = str(figures["publication"]["read_on"])
    jsonschema.validate(figures, json_schema("PublishedFigures"))


def test_it_accepts_the_launcher_catalogue():
    text = (INCLUDE / "catalog/launchers.yaml").read_text(encoding="utf-8")
    jsonschema.validate(yaml.safe_load(text), json_schema("LauncherCatalog"))


@pytest.mark.parametrize(
    ("old", "new"),
    [("k_ratio: 0.01", "k_ratio: 1.5"), ("  - {metric", "  - {at_most: 1, metric"), ("seeds", "sedes")],
)
def test_it_refuses_what_the_loader_refuses(valid, old, new):
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(yaml.safe_load(valid.replace(old, new)), json_schema("TrainingJob"))


@pytest.mark.parametrize("kind", SCHEMA_MODELS)
def test_every_key_is_described(kind):
    schema = json_schema(kind)
    bare = [
        f"{name}.{key}"
        for name, block in {kind: schema, **schema["$defs"]}.items()
        for key, value in block.get("properties", {}).items()
        if not value.get("description")
    ]
    assert bare == []
