"""How long a launch may take: by its deadline, or by what may be paid for it."""

from __future__ import annotations

from seedance_ops.jobs.training_job import TrainingJob

_S_PER_H = 3600.0


def longest_run_s(
    job: TrainingJob, accelerators: int, usd_per_accelerator_hour: float, *, spent_s: float = 0.0
) -> float:
    """Seconds that one launch may take: its deadline, or what is left of ``budget.per_run_usd``.

    Args:
        job: Its deadline and budget.
        accelerators: Of one launch.
        usd_per_accelerator_hour: Their price.
        spent_s: Seconds that earlier submissions of the same training were billed for.
    """
    per_run_usd = job.budget.per_run_usd
    if per_run_usd is None:
        return float(job.limits.run_timeout_s)
    paid_s = per_run_usd / (accelerators * usd_per_accelerator_hour) * _S_PER_H
    return min(float(job.limits.run_timeout_s), paid_s - spent_s)
