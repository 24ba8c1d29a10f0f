"""A run may change what ``params`` lists, within the bounds of the models."""

from __future__ import annotations

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from seedance_ops.jobs.errors import JobErrors
from seedance_ops.jobs.overrides import apply_overrides, parse_override
from seedance_ops.jobs.param_forms import param_schema, param_schemas


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=50)
@given(samples=st.integers(16, 10**9), k_ratio=st.floats(0, 1, exclude_min=True))
def test_overrides_round_trip(load, valid, samples, k_ratio):
    job = load(valid).job
    values = {"workload.stop.samples": samples, "variants.topk.gradient_compression.k_ratio": k_ratio}
    changed = apply_overrides(job, values)
    assert {path: schema["default"] for path, schema in param_schemas(changed).items()} == values
    back = {path: schema["default"] for path, schema in param_schemas(job).items()}
    assert apply_overrides(changed, back) == job


def test_another_path_is_refused_and_the_allowed_ones_named(load, valid):
    with pytest.raises(JobErrors) as caught:
        apply_overrides(load(valid).job, {"workload.stop.sample": 3})
    assert caught.value.errors[0].suggestion == "workload.stop.samples"
    assert "variants.topk.gradient_compression.k_ratio" in caught.value.errors[0].allowed


@pytest.mark.parametrize("value", [0, 15, -1, "3", None, 1.5, [], float("nan")])
def test_a_value_out_of_bounds_is_refused(load, valid, value):
    with pytest.raises(JobErrors):
        apply_overrides(load(valid).job, {"workload.stop.samples": value})


def test_what_the_launcher_cannot_do_is_refused_for_one_run_too(load, spoil, project):
    job = load(spoil(("[workload.stop.samples", "[num_nodes"))).job
    with pytest.raises(JobErrors, match="num_nodes must be 1"):
        apply_overrides(job, {"num_nodes": 2}, project=project)


def test_a_form_schema_is_flat_and_keeps_the_bounds(load, valid):
    schema = param_schemas(load(valid).job)["variants.topk.gradient_compression.k_ratio"]
    assert schema["default"] == 0.01
    assert schema["exclusiveMinimum"] == 0.0
    assert schema["maximum"] == 1.0
    assert schema["type"] == "number"
    assert not {"anyOf", "$ref", "oneOf"} & schema.keys()


@pytest.mark.parametrize(
    "path",
    [
        "accept",
        "launcher",
        "num_nodes",
        "resources.accelerators",
        "workload.args.layers",
        "workload.image",
        "gates.0.equivalent_within.absolute",
        "limits.retries",
        "schedule",
        "workload.quality.target",
    ],
)
def test_every_form_schema_accepts_its_own_default(load, valid, path):
    job = load(valid).job
    if path == "schedule":
        with pytest.raises(ValueError, match="may not change"):
            param_schema(job, path)
        return
    schema = param_schema(job, path)
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(schema["default"], schema)


def test_an_enumeration_keeps_its_choices(load, valid):
    assert param_schema(load(valid).job, "accept")["enum"] == ["any", "all", "report"]


@pytest.mark.parametrize(
    ("option", "value"),
    [("a.b=800", 800), ("a.b=0.5", 0.5), ("a.b=x=y", "x=y"), ("a.b=[1, 2]", [1, 2]), ("a.b=", None)],
)
def test_an_option_is_read_as_yaml(option, value):
    assert parse_override(option) == ("a.b", value)


@pytest.mark.parametrize("option", ["a.b", "=3", "a.b=[", "a.b=!!python/name:os.system x"])
def test_an_option_that_cannot_be_read_is_an_error(option):
    with pytest.raises(JobErrors):
        parse_override(option)


@pytest.mark.parametrize(
    ("path", "value"),
    [("workload.args.password", "swordfish"), ("workload.args.note", "hf_" + "a" * 34)],
)
def test_a_secret_is_refused_for_one_run_too_and_not_repeated(load, spoil, path, value):
    text = spoil(
        ("args: {layers: 2}", f"args: {{layers: 2, {path.rpartition('.')[2]}: ''}}"),
        ("params: [", f"params: [{path}, "),
    )
    with pytest.raises(JobErrors, match=f"{path}: a secret written as a value") as caught:
        apply_overrides(load(text).job, {path: value})
    assert value not in str(caught.value)


def test_as_many_runs_as_airflow_maps_are_allowed_and_no_more(load, spoil):
    job = load(spoil(("params: [", "params: [repeats.seeds, "))).job
    assert apply_overrides(job, {"repeats.seeds": 512}).repeats.seeds == 512
    with pytest.raises(JobErrors, match="1026 runs"):
        apply_overrides(job, {"repeats.seeds": 513})
