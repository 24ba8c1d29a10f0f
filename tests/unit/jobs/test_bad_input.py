"""Every kind of bad input gets an error at its line and column that says what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from seedance_ops.jobs.errors import JobErrors
from seedance_ops.jobs.loader import load_job_file, load_jobs

COMPRESSION = "gradient_compression: {algorithm: topk_error_feedback, k_ratio: 0.01}"

# What is replaced, by what, the line and column of the error, its path, and words of its rendering.
CASES = {
    "unknown key": (("repeats:", "repeat:"), 19, 1, "repeat", ["unknown key", "try: repeats"]),
    "unknown nested key": (("per_rank", "per_rnak"), 10, 11, "workload.batch.per_rnak", ["try: per_rank"]),
    "unknown key in a union": (
        ("k_ratio: 0.01", "k_ration: 0.01"),
        18,
        60,
        "variants.topk.gradient_compression.k_ration",
        [
            "unknown key",
            "try: k_ratio",
            "allowed: error_accumulation, dense_steps, flush_on_save, allreduce_backend, two_levels",
        ],
    ),
    "duplicate key": (
        ("launcher: local", "launcher: local\nlauncher: other"),
        14,
        1,
        "",
        ["duplicate", "line 13"],
    ),
    "variant called twice": (("  baseline: {}", "  topk: {}"), 17, 3, "", ["duplicate key", "topk"]),
    "wrong type": (("seeds: 5", 'seeds: "5"'), 19, 18, "repeats.seeds", ["integer", "without quotes"]),
    "more runs than Airflow maps": (
        ("seeds: 5", "seeds: 513"),
        19,
        18,
        "repeats.seeds",
        ["2 variants × 513 seeds are 1026 runs", "at most 1024", "max_map_length", "1 … 512"],
    ),
    "yes for a boolean": (
        ("Asia/Shanghai}", "Asia/Shanghai, catchup: yes}"),
        6,
        65,
        "schedule.catchup",
        ["boolean", "try: true"],
    ),
    "number for text": (("args: {layers: 2}", "env: {A: 1}"), 9, 12, "workload.env.A", ["string", "quotes"]),
    "mapping for a value": (
        ("layers: 2", "layers: {a: 1}"),
        9,
        10,
        "workload.args.layers",
        ["valid string or", "integer"],
    ),
    "k_ratio 0": (("0.01}", "0}"), 18, 69, "variants.topk.gradient_compression.k_ratio", ["greater than 0"]),
    "k_ratio 1.5": (
        ("0.01}", "1.5}"),
        18,
        69,
        "variants.topk.gradient_compression.k_ratio",
        ["1.5", "(0, 1]"],
    ),
    "k_ratio NaN": (
        ("0.01}", ".nan}"),
        18,
        69,
        "variants.topk.gradient_compression.k_ratio",
        [".nan is not a finite number"],
    ),
    "k_ratio too large for a float": (
        ("0.01}", "1e999}"),
        18,
        69,
        "variants.topk.gradient_compression.k_ratio",
        ["too large"],
    ),
    "missing key": (("  name: char-gpt\n", ""), 3, 1, "metadata.name", ["required key name is missing"]),
    "two documents": (("repeats:", "---\nrepeats:"), 19, 1, "", ["second document", "one job per file"]),
    "a tab": (("  owner:", "\towner:"), 5, 1, "", ["tab", "indent with spaces"]),
    "a tab after spaces": (("  owner:", "  \towner:"), 5, 3, "", ["tab", "indent with spaces"]),
    "a tab in the first line of a block": (("  name:", "\tname:"), 4, 1, "", ["tab", "indent with spaces"]),
    "an escape character": (("ml-platform", "ml\x1b[31m"), 5, 12, "", ["control character U+001B"]),
    "an escape character by its escape": (
        ("ml-platform", '"ml\\e[31m"'),
        5,
        10,
        "",
        ["control character U+001B", "only tab and line break"],
    ),
    "a null character": (("layers: 2", 'name: "a\\0b"'), 9, 16, "", ["control character U+0000"]),
    "a control character in a key": (("layers: 2", '"a\\x07": 2'), 9, 10, "", ["control character U+0007"]),
    "a BOM": (("apiVersion:", "\ufeffapiVersion:"), 1, 1, "", ["byte order mark", "without BOM"]),
    "an alias": (("{layers: 2}", "&a {layers: 2}\n  env: *a"), 10, 8, "", ["alias *a", "defaults.yaml"]),
    "a python object": (
        ("layers: 2", "layers: !!python/object/apply:os.system [ls]"),
        9,
        18,
        "",
        ["tags are not"],
    ),
    "a key that is no text": (("layers: 2", "1: 2"), 9, 10, "", ["key must be text", "quotes"]),
    "a list as key": (("layers: 2", "? [a] : 2"), 9, 12, "", ["key must be text"]),
    "unclosed bracket": (("{seeds: 5}", "{seeds: 5"), 20, 6, "", ["not YAML"]),
    "surrogate": (("ml-platform", '"\\ud800"'), 5, 13, "", ["not YAML"]),
    "name unfit for a DAG id": (("name: char-gpt", "name: Char GPT"), 4, 9, "metadata.name", ["lower-case"]),
    "name too long": (("name: char-gpt", f"name: {'a' * 51}"), 4, 9, "metadata.name", ["at most 50"]),
    "variant name": (("  topk:", "  top k:"), 17, 3, "variants.top k", ["not a valid name", "lower-case"]),
    "gate without its variant": (
        ("compared_to: baseline", "compared_to: baselin"),
        21,
        37,
        "gates.0.compared_to",
        ["no such variant", "baselin", "try: baseline"],
    ),
    "gate on an unknown metric": (
        ("- {metric: val_loss", "- {metric: bytes_on_wir"),
        21,
        14,
        "gates.0.metric",
        ["unknown metric", "try: bytes_on_wire"],
    ),
    "gate with two conditions": (
        ("equivalent_within:", "at_most: 1, equivalent_within:"),
        21,
        5,
        "gates.0",
        ["give exactly one of change_at_most"],
    ),
    "gate without comparison": ((" compared_to: baseline,", ""), 21, 5, "gates.0", ["needs compared_to"]),
    "cron that never fires": (("0 3 * * 1", "0 0 31 2 *"), 6, 18, "schedule.cron", ["never fires"]),
    "cron of six fields": (("0 3 * * 1", "0 0 3 * * 1"), 6, 18, "schedule.cron", ["five fields"]),
    "cron out of range": (("0 3 * * 1", "99 3 * * 1"), 6, 18, "schedule.cron", ["not a cron expression"]),
    "cron macro": (("0 3 * * 1", "@dayly"), 6, 18, "schedule.cron", ["try: @daily"]),
    "time zone": (("Asia/Shanghai", "Asia/Shanghi"), 6, 41, "schedule.timezone", ["try: Asia/Shanghai"]),
    "time zone as a path": (
        ("Asia/Shanghai", "../etc/passwd"),
        6,
        41,
        "schedule.timezone",
        ["unknown time zone"],
    ),
    "entrypoint missing": (
        ("examples/char_gpt.py", "examples/char_gtp.py"),
        8,
        15,
        "workload.entrypoint",
        ["no such file", "try: examples/char_gpt.py"],
    ),
    "script of a command missing": (
        ("entrypoint: examples/char_gpt.py", "command: [python, examples/char_gtp.py, --out, x.txt]"),
        8,
        21,
        "workload.command.1",
        ["missing entrypoint", "try: examples/char_gpt.py"],
    ),
    "script of a command in another folder than the workdir": (
        ("entrypoint: examples/char_gpt.py", "workdir: examples\n  command: [python, examples/char_gpt.py]"),
        9,
        21,
        "workload.command.1",
        ["missing entrypoint", "a file below", "/examples"],
    ),
    "set to a folder without the program": (
        (COMPRESSION, "set: {workload.workdir: include}"),
        18,
        29,
        "variants.topk.set.workload.workdir",
        ["missing entrypoint"],
    ),
    "entrypoint is a folder": (
        ("examples/char_gpt.py", "examples"),
        8,
        15,
        "workload.entrypoint",
        ["is a folder, name the script in it"],
    ),
    "entrypoint outside": (
        ("examples/char_gpt.py", "../../bin/sh.py"),
        8,
        15,
        "workload.entrypoint",
        ["outside"],
    ),
    "entrypoint absolute": (
        ("examples/char_gpt.py", "/bin/sh"),
        8,
        15,
        "workload.entrypoint",
        ["relative to"],
    ),
    "no program": (
        ("  entrypoint: examples/char_gpt.py\n", ""),
        7,
        1,
        "workload",
        ["exactly one of entrypoint"],
    ),
    "stop twice": (
        ("samples: 960", "samples: 960, steps: 3"),
        11,
        3,
        "workload.stop",
        ["exactly one of samples"],
    ),
    "secret in env": (
        ("args: {layers: 2}", "env: {HF_TOKEN: swordfish}"),
        9,
        19,
        "workload.env.HF_TOKEN",
        ["secret", "workload.secrets", "value: ***"],
    ),
    "secret in args": (
        ("layers: 2", "api-key: swordfish"),
        9,
        19,
        "workload.args.api-key",
        ["secret", "value: ***"],
    ),
    "secret by its form": (
        ("owner: ml-platform", f"owner: AKIA{'A' * 16}"),
        5,
        10,
        "metadata.owner",
        ["secret"],
    ),
    "secret as reference": (
        ("args: {layers: 2}", "secrets: {HF_TOKEN: swordfish}"),
        9,
        23,
        "workload.secrets.HF_TOKEN",
        ["env:NAME or file:/path", "value: ***"],
    ),
    "strategy with runtime none": (
        ("  batch: {per_rank: 8}\n  stop: {samples: 960}\n", "  runtime: none\n"),
        17,
        5,
        "variants.topk.gradient_compression",
        ["cannot apply a strategy", "runtime: session"],
    ),
    "strategy not yet available": (
        (COMPRESSION, "placement: {}"),
        18,
        5,
        "variants.topk.placement",
        ["not yet available"],
    ),
    "strategy not yet available, at the top level": (
        ("launcher: local", "launcher: local\nplacement: {}"),
        14,
        1,
        "placement",
        ["not yet available", "variants.<name>"],
    ),
    "strategy at the top level": (
        ("launcher: local", f"launcher: local\n{COMPRESSION.replace('0.01', '0.1')}"),
        14,
        1,
        "gradient_compression",
        ["belongs under variants.<name>"],
    ),
    "strategy in the workload": (
        ("args: {layers: 2}", "dynamic_batch: {}"),
        9,
        3,
        "workload.dynamic_batch",
        ["not yet available"],
    ),
    "strategy in a set": (
        (COMPRESSION, "set: {gradient_compression.k_ratio: 0.1}"),
        18,
        11,
        "variants.topk.set.gradient_compression.k_ratio",
        ["belongs under variants.<name>"],
    ),
    "launcher not yet available": (
        ("launcher: local", "launcher: {kind: slurm}"),
        13,
        18,
        "launcher.kind",
        ["slurm is not yet available"],
    ),
    "launcher unknown": (("launcher: local", "launcher: locl"), 13, 11, "launcher", ["try: local"]),
    "algorithm": (
        ("algorithm: topk_error_feedback", "algorithm: topk_error_feedbak"),
        18,
        39,
        "variants.topk.gradient_compression.algorithm",
        ["try: topk_error_feedback"],
    ),
    "kind not yet available": (
        ("TrainingJob", "Benchmark"),
        2,
        7,
        "kind",
        ["Benchmark is not yet available"],
    ),
    "no variants": (
        (f"  baseline: {{}}\n  topk:\n    {COMPRESSION}\n", "  {}\n"),
        15,
        1,
        "variants",
        ["at least 1"],
    ),
    "unknown param": (
        ("[workload.stop.samples", "[workload.stop.sample"),
        22,
        10,
        "params.0",
        ["there is no workload.stop.sample", "try: workload.stop.samples"],
    ),
    "param that may not change": (
        ("[workload.stop.samples", "[metadata.name"),
        22,
        10,
        "params.0",
        ["may not"],
    ),
    "param on a block": (
        ("[workload.stop.samples", "[workload.stop"),
        22,
        10,
        "params.0",
        ["not a single value"],
    ),
    "set outside": (
        (COMPRESSION, "set: {gates: []}"),
        18,
        11,
        "variants.topk.set.gates",
        ["may not change this"],
    ),
    "set to nonsense": (
        (COMPRESSION, "set: {workload.batch.per_rnak: 3}"),
        18,
        36,
        "variants.topk.set.workload.batch.per_rnak",
        ["unknown key", "try: per_rank"],
    ),
    "set out of bounds": (
        (COMPRESSION, "set: {workload.batch.per_rank: 0}"),
        18,
        36,
        "variants.topk.set.workload.batch.per_rank",
        ["greater than or equal to 1"],
    ),
    "set to a missing program": (
        (COMPRESSION, "set: {workload.entrypoint: examples/none.py}"),
        18,
        32,
        "variants.topk.set.workload.entrypoint",
        ["no such file"],
    ),
    "set to an unknown launcher": (
        (COMPRESSION, "set: {launcher: locale}"),
        18,
        21,
        "variants.topk.set.launcher",
        ["try: local"],
    ),
    "set of what must be the same": (
        (COMPRESSION, "set: {workload.runtime: none}"),
        18,
        11,
        "variants.topk.set.workload.runtime",
        ["the same for every variant"],
    ),
    "set through a value": (
        (COMPRESSION, "set: {launcher.slots: 2}"),
        18,
        5,
        "variants.topk.set",
        ["no parts"],
    ),
    "session without a stop": (
        ("  stop: {samples: 960}\n", ""),
        7,
        1,
        "workload.stop",
        ["required with runtime"],
    ),
    "launcher's variable": (
        ("args: {layers: 2}", 'env: {SEEDANCE_PLAN: "x"}'),
        9,
        9,
        "workload.env.SEEDANCE_PLAN",
        ["set by the launcher"],
    ),
    "unknown interval policy": (
        ("launcher: local", "launcher: local\ncheckpoint: {interval: {policy: adaptiv}}"),
        14,
        33,
        "checkpoint.interval.policy",
        ["adaptive", "fixed", "report"],
    ),
    "key of another interval policy": (
        ("launcher: local", "launcher: local\ncheckpoint: {interval: {policy: report, mtbf_h: 3}}"),
        14,
        41,
        "checkpoint.interval.mtbf_h",
        ["threshold"],
    ),
    "best of an undeclared metric": (
        ("launcher: local", "launcher: local\ncheckpoint: {keep: {best: {metric: acc}}}"),
        14,
        36,
        "checkpoint.keep.best.metric",
        ["does not declare"],
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_bad_input_is_placed_and_explained(case, spoil, errors_of):
    change, line, column, path, words = case
    errors = errors_of(spoil(change))
    matching = [error for error in errors if not path or error.path == path]
    assert matching, [error.render() for error in errors]
    error = matching[0]
    assert error.place is not None
    rendered = error.render()
    assert (error.place.line, error.place.column) == (line, column), rendered
    for word in words:
        assert word in rendered
    assert "swordfish" not in "".join(other.render() for other in errors)


def test_an_unknown_key_lists_the_keys_of_its_own_algorithm(spoil, errors_of):
    """Not those of another one that has a value called bf16."""
    (error,) = errors_of(spoil(("algorithm: topk_error_feedback", "algorithm: bf16")))
    assert "unknown key" in error.message
    assert error.allowed == "algorithm, allreduce_backend"


@pytest.mark.parametrize("text", ["", "\n\n", "# nothing\n", "---\n", "null\n"])
def test_an_empty_file_says_so(text, errors_of):
    (error,) = errors_of(text)
    assert "empty" in error.message


@pytest.mark.parametrize("text", ["- a\n", "text\n", "3\n"])
def test_a_file_that_is_no_mapping_says_so(text, errors_of):
    (error,) = errors_of(text)
    assert "mapping" in error.message


def test_all_errors_of_a_file_come_at_once(spoil, errors_of):
    errors = errors_of(
        spoil(
            ("k_ratio: 0.01", "k_ratio: 1.5"),
            ("0 3 * * 1", "0 0 31 2 *"),
            ("compared_to: baseline", "compared_to: nobody"),
            ("repeats: {seeds: 5}", "repeat: {seeds: 5}"),
            ("layers: 2", "token: swordfish"),
            ("examples/char_gpt.py", "examples/nothing.py"),
        )
    )
    assert [error.path for error in errors] == [
        "schedule.cron",
        "workload.entrypoint",
        "workload.args.token",
        "variants.topk.gradient_compression.k_ratio",
        "repeat",
        "gates.0.compared_to",
    ]


def test_a_fault_causes_no_second_error_where_others_rest_on_it(spoil, errors_of):
    (error,) = errors_of(spoil(("better: lower", "better: lwoer")))
    assert error.path == "workload.quality.better"
    assert error.suggestion == "lower"


def test_an_invalid_gate_does_not_move_the_others_errors(spoil, errors_of):
    gate = "  - {metric: val_loss, compared_to: baseline, equivalent_within: {absolute: 0.05}}"
    wrong = "  - {metric: val_loss}\n  - {metric: nonsense, at_most: 1}"
    assert [error.path for error in errors_of(spoil((gate, wrong)))] == ["gates.0", "gates.1.metric"]


def test_a_bomb_is_refused_before_it_goes_off(errors_of):
    rows = ["a0: &a0 [x]"] + [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 30)]
    assert all("aliases are not read" in error.message for error in errors_of("\n".join(rows)))


@pytest.mark.parametrize("text", ["[" * 50_000, "{a: " * 50_000, "- " * 50_000, "? " * 50_000])
def test_deep_nesting_is_refused(text, errors_of):
    errors = errors_of(text)
    assert any("levels deep" in error.message or "not YAML" in error.message for error in errors)


def test_thousands_of_errors_are_cut_off(valid, errors_of):
    errors = errors_of(valid + "".join(f"key{i}: 1\n" for i in range(5000)))
    assert len(errors) == 51
    assert "and 4950 more errors" in errors[-1].message


def test_too_many_values_are_refused(valid, errors_of):
    (error,) = errors_of(valid + "keys: [" + "{b: 1}, " * 60_000 + "]")
    assert "more than 20000 values" in error.message


def test_a_large_file_is_refused_without_being_parsed(project):
    path = project.jobs_folder / "large.yaml"
    path.write_bytes(b"a: 1\n" * 2_000_000)
    with pytest.raises(JobErrors, match="larger than 1024 KiB"):
        load_job_file(path)


def test_another_encoding_is_refused_at_its_place(project):
    path = project.jobs_folder / "latin.yaml"
    path.write_bytes("a: 1\nb: Käse\n".encode("latin-1"))
    with pytest.raises(JobErrors) as caught:
        load_job_file(path)
    assert str(caught.value.errors[0].place).endswith("latin.yaml:2:5")


def test_a_folder_or_nothing_is_refused(project):
    for path in (project.jobs_folder, project.jobs_folder / "none.yaml", Path("\0")):
        with pytest.raises(JobErrors, match="cannot be read"):
            load_job_file(path)


@pytest.mark.parametrize(
    "command",
    ["[python, /opt/program.py]", "[bash, -c, python none.py]", "[python, -m, pytest]", "[python, --a=b.py]"],
)
def test_a_word_that_is_no_file_of_the_project_is_not_looked_up(command, spoil, load):
    loaded = load(spoil(("entrypoint: examples/char_gpt.py", f"command: {command}")))
    assert list(loaded.job.workload.command) == command[1:-1].split(", ")


def test_an_entrypoint_may_not_leave_the_project_through_a_link(project, spoil, errors_of, tmp_path_factory):
    outside = tmp_path_factory.mktemp("outside") / "program.py"
    outside.touch()
    (project.root / "examples/link.py").symlink_to(outside)
    (error,) = errors_of(spoil(("char_gpt.py", "link.py")))
    assert "outside the project" in error.message


def test_two_jobs_of_one_name_are_an_error_in_both(project, valid):
    paths = [project.jobs_folder / name for name in ("one.yaml", "two.yaml")]
    for path in paths:
        path.write_text(valid, encoding="utf-8")
    loaded = load_jobs([*paths, paths[0]])
    assert [(error.place.source, error.place.line) for error in loaded.errors] == [
        (path, 4) for path in paths
    ]
    assert "two.yaml" in loaded.errors[0].render()


def test_one_broken_file_does_not_hide_the_others(project, valid):
    good, bad = project.jobs_folder / "good.yaml", project.jobs_folder / "bad.yaml"
    good.write_text(valid, encoding="utf-8")
    bad.write_text("kind: [", encoding="utf-8")
    loaded = load_jobs([bad, good])
    assert [job.source for job in loaded.jobs] == [good]
    assert {error.place.source for error in loaded.errors} == {bad}


def test_an_error_shows_the_lines_around_it(spoil, errors_of):
    (error,) = errors_of(spoil(("per_rank: 8", "per_rank: 0")))
    assert "   10 |   batch: {per_rank: 0}" in error.render()
    assert error.render().splitlines()[-2].index("^") - 12 == error.place.column - 1


def test_a_secret_is_not_shown_as_context_of_another_error(spoil, errors_of):
    text = spoil(
        ("args: {layers: 2}", "secrets:\n    A: env:A\n    PEM: |\n      one\n      swordfish\n  nonsense: 1")
    )
    assert "swordfish" not in JobErrors(errors_of(text)).render()


def test_what_an_unchanged_program_is_told_stands_under_a_key_that_exists(spoil, errors_of, load):
    batch, *_ = errors_of(spoil(("workload:\n", "workload:\n  runtime: none\n")))
    assert (batch.path, batch.suggestion) == ("workload.batch", "say it in workload.args")
    assert "workload.args.layers" in load(spoil()).positions


def test_a_number_that_is_none_hides_no_other_error_and_invents_none(spoil, errors_of):
    found = errors_of(
        spoil(("0.01}", ".nan}"), ("layers: 2", "layers: -.inf"), ("absolute: 0.05", "absolute: 0"),
              ("seeds: 5", "seeds: 0"))
    )  # fmt: skip
    assert [error.path for error in found] == [
        "workload.args.layers",
        "variants.topk.gradient_compression.k_ratio",
        "repeats.seeds",
        "gates.0.equivalent_within.absolute",
    ]
    assert (
        "18 |     gradient_compression: {algorithm: topk_error_feedback, k_ratio: .nan}" in found[1].render()
    )
