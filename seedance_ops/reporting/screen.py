"""From the screening's records to the variants that are trained in full: cost decides, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from seedance_ops.cost.catalogue import Price
from seedance_ops.cost.ledger_table import BILLED_BY_THE_HOUR
from seedance_ops.cost.run_cost import KEYS, price_runs
from seedance_ops.jobs.manifest import RunManifest
from seedance_ops.jobs.screening import ScreenedVariant, Screening
from seedance_ops.jobs.training_job import TrainingJob
from seedance_ops.reporting.run_table import assemble
from seedance_ops.reporting.run_tables import RunTables
from seedance_ops.reporting.study_cost import study_cost_of


def screen(manifest: RunManifest, tables: RunTables, ledger: pd.DataFrame) -> Screening:
    """What each variant costs per 1,000 samples of training time, and which of them go on.

    Only complete runs count. Start-up is left out: in so short a run it would be most of the bill. The
    baseline goes on whatever it costs, and so does what a gate compares a confirmed variant to.

    Args:
        manifest: Of the screening phase (``RunManifest.screening``).
        tables: What its trainings recorded.
        ledger: Its bill.

    Raises:
        ValueError: The job has no phases.
        PriceMissing, BadQuantity: As ``price_runs``.
    """
    phases = manifest.job.phases
    if phases is None:
        raise ValueError(f"job {manifest.job.metadata.name} has no phases")
    table = assemble(manifest, tables)
    costs = price_runs(table.frame, tables.launches, manifest.prices)
    figures = _usd_per_1k_samples(table.frame, costs)
    study = study_cost_of(costs, tables.earlier_launches, ledger=ledger)
    ranked = sorted(manifest.job.variants, key=lambda name: figures.get(name, np.inf))
    reasons = _going_on(manifest.job, ranked, figures, phases.confirm.top)
    missing = {run.variant: run.reason for run in table.missing}
    return Screening(
        samples=phases.screen.samples,
        variants=tuple(
            ScreenedVariant(
                variant=name,
                usd_per_1k_samples=figures.get(name),
                runs=int((table.frame["variant"] == name).sum()),
                confirmed=name in reasons,
                reason=reasons.get(name)
                or (missing[name] if name not in figures else f"not {_among(phases.confirm.top)}"),
            )
            for name in ranked
        ),
        usd=study.usd,
        accelerator_hours=study.accelerator_hours,
        queue_s=study.queue_s,
    )


def repriced(screening: Screening, ledger: pd.DataFrame, prices: Mapping[str, Price]) -> Screening:
    """The same screening by other prices of accelerators; what it decided stays decided.

    Args:
        screening: As it was.
        ledger: Its bill.
        prices: By variant.
    """
    hours = ledger[ledger["component"].isin(BILLED_BY_THE_HOUR)]
    now = hours["variant"].map({name: price.usd_per_accelerator_hour for name, price in prices.items()})
    difference = hours["quantity"] * (now.astype("float64") - hours["unit_price_usd"])
    return screening.model_copy(update={"usd": screening.usd + float(difference.sum())})


def _usd_per_1k_samples(runs: pd.DataFrame, costs: pd.DataFrame) -> dict[str, float]:
    """Sum over sum, by variant; the bill of a run times the share of it that was training."""
    bills = costs[[*KEYS, "usd_per_run", "run_s"]].rename(columns={"run_s": "billed_s"})
    both = runs[[*KEYS, "samples", "train_elapsed_s"]].merge(bills, on=KEYS, validate="one_to_one")
    usd = both["usd_per_run"] * both["train_elapsed_s"] / both["billed_s"]
    sums = both.assign(training_usd=usd).groupby("variant")[["training_usd", "samples"]].sum(min_count=1)
    figures = (1000.0 * sums["training_usd"] / sums["samples"]).to_dict()
    return {str(name): float(figure) for name, figure in figures.items() if np.isfinite(figure)}


def _among(top: int) -> str:
    return "the cheapest" if top == 1 else f"among the {top} cheapest"


def _going_on(job: TrainingJob, ranked: list[str], figures: dict[str, float], top: int) -> dict[str, str]:
    """The variants that are confirmed, each with the reason."""
    cheapest = [name for name in ranked if name != job.baseline and name in figures][:top]
    reasons = dict.fromkeys(cheapest, _among(top)) | {job.baseline: "the baseline"}
    for gate in job.gates:
        applies = [name for name in cheapest if gate.applies_to(name)]
        if gate.compared_to is not None and applies:
            reasons.setdefault(gate.compared_to, f"a gate compares {applies[0]} with it")
    return reasons
