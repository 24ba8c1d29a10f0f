"""How often the judge itself accepts: the gates of many studies in one validation."""

from __future__ import annotations

import gc
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from seedance_ops.jobs.loader import load_job_text
from seedance_ops.jobs.training_job import TrainingJob
from seedance_ops.quality.evidence import Evidence, gather
from seedance_ops.quality.families import corrected
from seedance_ops.quality.judge import frame_of, results_of, suite_of
from seedance_ops.quality.statistics import Statistics
from seedance_ops.quality.validation import validate
from simulations.gates import BOUND, VARIANTS, runs_of
from simulations.studies import Rates

_JOB = """\
apiVersion: seedance.ops/v1
kind: TrainingJob
metadata: {{name: simulated}}
workload: {{entrypoint: examples/char_gpt.py, batch: {{per_rank: 1}}, stop: {{steps: 1}}}}
launcher: local
variants: {{baseline: {{}}, {variants}}}
repeats: {{seeds: {seeds}}}
gates:
  - {{metric: usd_per_run, compared_to: baseline, change_at_most: {{relative: {bound}}}}}
"""
_AT_ONCE = 100
"""Studies in one validation; an expectation looks for its row among those of all."""


def judged_together(n: int, studies: int, *, seed: int) -> Rates:
    """In what share of studies any of several equal variants passes at the edge of its gate's bound.

    From the run table on, through the evidence, Holm and the Great Expectations validation of ``judge``.
    """
    generator = np.random.default_rng(seed)
    job = _job(n)
    rates = Rates()
    gc.freeze()  # statsmodels collects garbage in each correction
    for first in range(0, studies, _AT_ONCE):
        numbers = range(first, min(studies, first + _AT_ONCE))
        evidence = [item for number in numbers for item in _study(job, generator, n, number)]
        validation = validate(frame_of(evidence), suite_of(evidence), minimum_rows=len(evidence))
        assert not validation.problems, validation.problems
        found = results_of(evidence, validation)
        for study in range(len(numbers)):
            of_study = found[study * VARIANTS : (study + 1) * VARIANTS]
            rates.add(None, hit=any(result.outcome == "pass" for result in of_study))
            alone = [result.high is not None and result.high <= BOUND for result in of_study]
            rates.add("uncorrected", hit=any(alone))
    gc.unfreeze()
    return rates


def _job(n: int) -> TrainingJob:
    variants = ", ".join(f"v{number}: {{}}" for number in range(VARIANTS))
    text = _JOB.format(variants=variants, seeds=n, bound=BOUND)
    job = load_job_text(text, Path("simulated.yaml"), project=None).job
    assert isinstance(job, TrainingJob)
    return job


def _study(job: TrainingJob, generator: np.random.Generator, n: int, number: int) -> list[Evidence]:
    runs = pd.concat(
        [
            runs_of(generator, 0.0 if name == job.baseline else BOUND, n)
            .rename("usd_per_run")
            .to_frame()
            .assign(variant=name, seed=range(n))
            for name in job.variants
        ]
    )
    nothing_stated = Statistics(baseline=job.baseline, levels=(), comparisons=())
    evidence = corrected(gather(job, runs, nothing_stated, ()))
    return [replace(item, gate_id=f"{number}:{item.gate_id}") for item in evidence]
