"""What was measured, as tables and as results."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from rich.console import Console
from rich.table import Table

from compression_study.decisions import Decisions
from compression_study.links import ALONE, LINKS, StepTimes, Timings
from compression_study.quality import BASELINE, RANKS, Study, Training
from compression_study.tasks import RECIPES
from seedance_ops.stats.equivalence import Equivalence, equivalence

MARGIN_NATS = 0.02


def print_tables(study: Study, timings: Timings, decisions: Decisions) -> None:
    console = Console()
    for task in RECIPES:
        rows = list(quality_of(study, task))
        if rows:
            console.print(table_of(f"{task}: {RECIPES[task].steps} steps, {RANKS} ranks", rows))
    for link in LINKS:
        rows = list(times_of(timings, link))
        if rows:
            console.print(table_of(f"link {link} Mbit/s: a step of 3.2 M parameters", rows))
    if rows := list(seconds_to_target(study, timings)):
        console.print(table_of(f"seconds to dense training's loss + {MARGIN_NATS} nats, by link", rows))
    if rows := list(decisions.rows()):
        console.print(table_of("what auto chose", rows))


def results_of(study: Study, timings: Timings, decisions: Decisions) -> list[dict[str, Any]]:
    """One entry for each metric, for ``write_results``."""
    results: list[dict[str, Any]] = []
    for task in RECIPES:
        results += [
            {
                "metric": f"val_loss_difference_{task}_{row['compressor']}",
                "unit": "nats",
                "ours": row["difference"],
                "interval_90": row["interval_90"],
                "equivalent": row["equivalent"],
                "n": row["seeds"],
            }
            for row in quality_of(study, task)
        ]
    for link in LINKS:
        found = timings.of(link)
        results += [
            {
                "metric": f"wait_share_{link}",
                "compressor": row["compressor"],
                "unit": "share of the step",
                "ours": row["wait_share"],
                "step_ms": row["step_ms"],
                "spread": row["quartiles_ms"],
                "n": len(found[row["compressor"]].step_ms),
            }
            for row in times_of(timings, link)
        ]
    results += [
        {
            "metric": f"seconds_to_target_{row['task']}_{link}",
            "compressor": row["compressor"],
            "unit": "s",
            "ours": row[link],
        }
        for row in seconds_to_target(study, timings)
        for link in LINKS
        if link in row
    ]
    results += [
        {
            "metric": f"auto_step_{row['link']}",
            "tier": row["tier"],
            "unit": "ms",
            "ours": row["auto_ms"],
            "peer": row["bf16_ms"],
            "ratio": row["ratio"],
            "chosen": row["chosen"],
            "predicted_ms": row["predicted_ms"],
            "n": row["steps"],
        }
        for row in decisions.rows()
    ]
    unshaped = {name: times for name, times in timings.of("unshaped").items() if name != ALONE}
    results += [
        {
            "metric": f"bytes_per_step_{name}",
            "unit": "B",
            "ours": times.interface_bytes,
            "n": len(times.step_ms),
        }
        for name, times in unshaped.items()
    ]
    return results


def quality_of(study: Study, task: str) -> Iterator[dict[str, Any]]:
    """Every compressor with at least one seed in common with the dense runs."""
    baseline = losses_of(study, task, BASELINE)
    if baseline.empty:
        return
    for name in dict.fromkeys(training.compressor for training in study.trainings() if training.task == task):
        losses = losses_of(study, task, name)
        seeds = sorted(set(losses.index) & set(baseline.index))
        if not seeds:
            continue
        row: dict[str, Any] = {
            "compressor": name,
            "lr": study.learning_rate(task, name),
            "val_loss": float(losses[seeds].mean()),
            "difference": float((losses[seeds] - baseline[seeds]).mean()),
            "seeds": len(seeds),
            "interval_90": None,
            "equivalent": None,
            "bytes": bytes_of(study, task, name),
        }
        tested = equivalence(
            losses[seeds],
            baseline[seeds],
            margin=MARGIN_NATS,
            scale="absolute",
            pairs_by_seed=True,
            nature="measured",
        )
        if isinstance(tested, Equivalence) and name != BASELINE:
            row["interval_90"] = [tested.effect.low, tested.effect.high]
            row["equivalent"] = tested.effect.low > -MARGIN_NATS and tested.effect.high < MARGIN_NATS
        row["steps_to_target"] = steps_to(study, task, name, baseline + MARGIN_NATS)
        yield row


def times_of(timings: Timings, link: str) -> Iterator[dict[str, Any]]:
    """Every compressor's step, beside the step without any exchange."""
    found = timings.of(link)
    if ALONE not in found:
        return
    alone_ms = found[ALONE].median_ms
    for name, times in found.items():
        step_ms = times.median_ms
        yield {
            "compressor": name,
            "step_ms": step_ms,
            "quartiles_ms": times.quartiles_ms(),
            "wait_share": max(0.0, (step_ms - alone_ms) / step_ms),
            "wait_against_dense": _wait_change(times, found.get(BASELINE), alone_ms),
            "bytes": times.interface_bytes,
        }


def _wait_change(times: StepTimes, dense: StepTimes | None, alone_ms: float) -> float | None:
    if dense is None or dense.median_ms <= alone_ms:
        return None
    return (times.median_ms - alone_ms) / (dense.median_ms - alone_ms) - 1


def losses_of(study: Study, task: str, compressor: str) -> pd.Series[float]:
    """Final validation loss by seed, at the learning rate that was chosen."""
    recipe, lr = RECIPES[task], study.learning_rate(task, compressor)
    found = {}
    for training in study.trainings():
        if training == Training(task, compressor, training.seed, lr, recipe.steps) and training.seed < 1000:
            loss = study.final_loss(training)
            if loss is not None:
                found[training.seed] = loss
    return pd.Series(found, dtype="float64").sort_index()


def bytes_of(study: Study, task: str, compressor: str) -> float:
    """Counted bytes of a step; 0 for torch's hooks, which do not count."""
    lr = study.learning_rate(task, compressor)
    outcomes = [
        study.outcome(training)
        for training in study.trainings()
        if training == Training(task, compressor, training.seed, lr, RECIPES[task].steps)
    ]
    return float(np.mean([outcome["bytes_per_step"] for outcome in outcomes if outcome]))


def steps_to(study: Study, task: str, compressor: str, targets: pd.Series[float]) -> float | None:
    """Mean over seeds of the first evaluation at or below the seed's target; none where one never is."""
    recipe, lr = RECIPES[task], study.learning_rate(task, compressor)
    reached = []
    for seed in set(losses_of(study, task, compressor).index) & set(targets.index):
        outcome = study.outcome(Training(task, compressor, int(seed), lr, recipe.steps))
        assert outcome is not None
        first = next((step for step, loss in outcome["curve"] if loss <= targets[seed]), None)
        if first is None:
            return None
        reached.append(first)
    return float(np.mean(reached)) if reached else None


def seconds_to_target(study: Study, timings: Timings) -> Iterator[dict[str, Any]]:
    """Steps to the target by task, at the step time of each link's model."""
    for task in RECIPES:
        for row in quality_of(study, task):
            seconds: dict[str, float | None] = {}
            for link in LINKS:
                times = timings.of(link).get(row["compressor"])
                if times is not None:
                    steps = row["steps_to_target"]
                    seconds[link] = None if steps is None else steps * times.median_ms / 1e3
            if seconds:
                yield {"task": task, "compressor": row["compressor"], **seconds}


def table_of(title: str, rows: list[dict[str, Any]]) -> Table:
    table = Table(title=title)
    columns = list(dict.fromkeys(name for row in rows for name in row))
    for column in columns:
        table.add_column(column.replace("_", " "), justify="left" if column == "compressor" else "right")
    for row in rows:
        table.add_row(*(printed(row.get(column)) for column in columns))
    return table


def printed(value: object) -> str:
    match value:
        case None:
            return "–"
        case bool():
            return "yes" if value else "no"
        case float():
            return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
        case list():
            return " … ".join(printed(part) for part in value)
        case _:
            return str(value)
