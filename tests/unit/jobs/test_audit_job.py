"""An audit and its file of published figures: every fault at its line."""

from __future__ import annotations

import pytest

from seedance_ops.jobs.audit_job import AuditJob
from seedance_ops.jobs.errors import JobErrors

AUDIT = """\
apiVersion: seedance.ops/v1
kind: Audit
metadata: {name: audit-page}
published: include/published/page.yaml
accept: report
"""
FIGURES = """\
apiVersion: seedance.ops/v1
kind: PublishedFigures
publication: {name: page, title: Page, source: a page, read_on: 2026-12-02}
tables:
  speed:
    title: Speed
    where: top
    columns: {samples: {unit: 1/second}}
    rows:
      old: {samples: "100"}
      new: {samples: "200"}
claims:
  twice:
    kind: ratio
    where: headline
    of: speed.new.samples
    to: speed.old.samples
    stated: "2.0"
"""


@pytest.fixture
def figures(project):
    file = project.root / "include/published/page.yaml"
    file.parent.mkdir()
    file.write_text(FIGURES, encoding="utf-8")
    return file


def test_a_valid_audit_is_loaded(load, figures):
    job = load(AUDIT).job
    assert isinstance(job, AuditJob)
    assert (job.accept, job.metadata.name) == ("report", "audit-page")


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("accept: report", "accept: any", ("job.yaml:5:", "all, report")),
        ("published: include", "publishd: include", ("job.yaml:4:", "published")),
        ("include/published/page.yaml", "include/published/none.yaml", ("job.yaml:4:", "there is no file")),
        ("include/published/page.yaml", "include/../../page.yaml", ("job.yaml:4:", "outside the project")),
        ("kind: Audit", "kind: Audti", ("job.yaml:2:", "TrainingJob, Audit")),
        ("kind: Audit", "kind: Benchmark", ("job.yaml:2:", "not yet available")),
        ("metadata:", "schedule: {cron: 0 0 31 2 *}\nmetadata:", ("job.yaml:3:",)),
    ],
)
def test_faults_of_the_job(load, figures, old, new, words):
    with pytest.raises(JobErrors) as caught:
        load(AUDIT.replace(old, new))
    for word in words:
        assert word in caught.value.render()


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("of: speed.new.samples", "of: speed.nwe.samples", ("page.yaml:16:", "speed.new.samples")),
        ('stated: "2.0"', "stated: 2.0", ("page.yaml:18:",)),
        ('samples: "100"', 'samples: "about 100"', ("page.yaml:10:",)),
        ("kind: ratio", "kind: ratoi", ("page.yaml:14:", "ratio")),
        ("    to: speed.old.samples\n", "", ("page.yaml:", "required key to is missing")),
        ("kind: PublishedFigures", "kind: PublishedFigures\nextra: 1", ("page.yaml:3:", "unknown key")),
    ],
)
def test_faults_of_the_figures_are_shown_at_their_own_line(load, figures, old, new, words):
    assert old in FIGURES
    figures.write_text(FIGURES.replace(old, new), encoding="utf-8")
    with pytest.raises(JobErrors) as caught:
        load(AUDIT)
    for word in words:
        assert word in caught.value.render()
