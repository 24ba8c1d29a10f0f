"""Load a project's data expectations: every error at its file, line and column."""

from __future__ import annotations

from pathlib import Path

from pydantic import ValidationError

from seedance_ops.jobs.errors import JobError, JobErrors, Place
from seedance_ops.jobs.explain import explain
from seedance_ops.jobs.locate import Source, locate
from seedance_ops.jobs.plain import from_plain
from seedance_ops.jobs.source_text import check_text, read_text
from seedance_ops.jobs.yaml_nodes import parse_yaml
from seedance_ops.quality.suite import Suite, built_in_path, built_in_text


def expectation_files(project: Path) -> list[Path]:
    """The files of ``include/expectations/``, in the order in which they make up the suite."""
    folder = project / "include" / "expectations"
    return sorted(
        path
        for pattern in ("*.yaml", "*.yml")
        for path in folder.glob(pattern)
        if path.is_file() and not path.name.startswith(".")
    )


def is_expectation_file(path: Path) -> bool:
    """Whether a file stands where a project keeps its suite."""
    return path.absolute().parent.parts[-2:] == ("include", "expectations")


def load_suite(project: Path | None) -> Suite:
    """The suite of a project: all of its files together, or the built-in one where it has none.

    Raises:
        JobErrors: With every fault of every file.
    """
    paths = expectation_files(project) if project is not None else []
    if not paths:
        return load_suite_text(built_in_text(), built_in_path())
    suites: list[Suite] = []
    errors: list[JobError] = []
    for path in paths:
        try:
            suites.append(load_suite_text(read_text(path), path.relative_to(project or "")))
        except JobErrors as broken:
            errors.extend(broken.errors)
    if errors:
        raise JobErrors(errors)
    return Suite(expectations=tuple(entry for suite in suites for entry in suite.expectations))


def load_suite_text(text: str, source: Path) -> Suite:
    """The suite of one file; ``source`` names it in errors. Raises ``JobErrors``."""
    check_text(text, source)
    root = parse_yaml(text, source)
    data = root.plain() if root else None
    if root is None or not isinstance(data, dict):
        raise JobErrors([JobError("a suite is a mapping with the key expectations", Place(source, 1, 1))])
    try:
        return from_plain(Suite, data)
    except ValidationError as error:
        raise JobErrors(locate(explain(error, Suite, data), root, [Source(source, text)])) from None
