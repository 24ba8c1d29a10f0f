"""Load a file of published figures: every error at its line, every claim about a figure that is there."""

from __future__ import annotations

import re
from pathlib import Path

from pydantic import ValidationError

from seedance_ops.audit.printed import PATTERN
from seedance_ops.audit.published import PublishedFigures, references_of
from seedance_ops.jobs.errors import JobError, JobErrors, Place
from seedance_ops.jobs.explain import explain
from seedance_ops.jobs.findings import Finding, nearest
from seedance_ops.jobs.locate import Source, locate
from seedance_ops.jobs.plain import from_plain
from seedance_ops.jobs.source_text import check_text, read_text
from seedance_ops.jobs.yaml_nodes import parse_yaml


def load_published(path: Path) -> PublishedFigures:
    """Read the file; raises ``JobErrors`` with all of its faults."""
    return load_published_text(read_text(path), path)


def load_published_text(text: str, source: Path) -> PublishedFigures:
    """As ``load_published``, from the text; ``source`` names it in errors."""
    check_text(text, source)
    root = parse_yaml(text, source)
    data = root.plain() if root else None
    if root is None or not isinstance(data, dict):
        raise JobErrors([JobError("published figures are a mapping of keys to values", Place(source, 1, 1))])
    try:
        published = from_plain(PublishedFigures, data)
    except ValidationError as error:
        findings = explain(error, PublishedFigures, data)
    else:
        findings = _unknown_references(published)
    if findings:
        raise JobErrors(locate(findings, root, [Source(source, text)]))
    return published


def is_published_file(path: Path) -> bool:
    """Whether a file says that it holds published figures."""
    try:
        text = read_text(path)
        if "PublishedFigures" not in text:
            return False  # most files, which would be parsed twice
        root = parse_yaml(text, path)
    except JobErrors:
        return False
    data = root.plain() if root else None
    return isinstance(data, dict) and data.get("kind") == "PublishedFigures"


def _unknown_references(published: PublishedFigures) -> list[Finding]:
    known = set(published.references())
    found = []
    for name, claim in published.claims.items():
        for path, reference in references_of(claim):
            if reference not in known and not re.match(PATTERN, reference):
                found.append(
                    Finding(
                        ("claims", name, *path),
                        "no table and no figure has it",
                        allowed="table.row.column, or the name of a figure",
                        suggestion=nearest(reference, known),
                    )
                )
    return found
