"""How long a large run's report takes, and how much memory: 10 variants × 20 seeds × 10,000 steps.

    python benchmarks/report.py [--quick] [--json FILE]

What the report stage does: it reads the stored tables of a made-up run, builds the report, and renders page,
data and comment. Each repeat is a process of its own; imports count, and the peak of resident memory is the
kernel's. No peer makes such a report; the bars are 15 s and 1,024 MiB. ``--quick`` has a tenth of the steps.
"""

from __future__ import annotations

import argparse
import json
import pickle
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from contract import write_results

if __name__ == "__main__":
    # benchmarks/statistics.py would hide the standard library's from every import below.
    sys.path[:] = [
        entry for entry in sys.path if Path(entry or ".").resolve() != Path(__file__).resolve().parent
    ]

BARS = {"report_s": 15.0, "report_peak_mib": 1024.0}
VARIANTS, SEEDS, STEPS, RANKS = 10, 20, 10_000, 1
TABLES = ("evaluations", "checkpoint_writes", "launches", "usage")
EVALUATIONS, LARGEST_PAGE = 20, 1_000_000


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--quick", action="store_true", help="1,000 steps and three repeats")
    options.add_argument("--json", type=Path)
    options.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    options.add_argument("--make", type=int, help=argparse.SUPPRESS)
    chosen = options.parse_args()
    if chosen.make is not None:
        make_run(chosen.child, chosen.make)
        return 0
    if chosen.child is not None:
        print(json.dumps(one_report(chosen.child)))
        return 0
    steps, repeats = (STEPS // 10, 3) if chosen.quick else (STEPS, 5)
    with tempfile.TemporaryDirectory() as folder:
        child("--child", folder, "--make", str(steps))
        found = [json.loads(child("--child", folder)) for _ in range(repeats)]
    results = [result(name, [row[name] for row in found]) for name in BARS]
    show(results, found[0], steps)
    if chosen.json:
        write_results(
            chosen.json,
            "report",
            results,
            size=f"{VARIANTS} variants × {SEEDS} seeds × {steps} steps",
            page_bytes=found[0]["page_bytes"],
        )
    return 0


def child(*arguments: str) -> str:
    """Standard output of this file in a fresh process."""
    command = [sys.executable, __file__, *arguments]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def one_report(folder: Path) -> dict[str, float]:
    """From stored tables to texts, in this process."""
    began = time.perf_counter()
    from seedance_ops.reporting.html import render_html
    from seedance_ops.reporting.markdown import render_markdown
    from seedance_ops.reporting.report import build_report
    from seedance_ops.reporting.run_tables import RunTables, curve_columns

    stages = pickle.loads((folder / "stages.pickle").read_bytes())
    tables = RunTables(steps=curve_columns((folder / "steps.parquet").read_bytes()), **stages.pop("tables"))
    report = build_report(stages.pop("manifest"), {"job": "large"}, tables, **stages)
    page, document, comment = render_html(report), report.as_json(), render_markdown(report)
    took_s = time.perf_counter() - began
    return {
        "report_s": took_s,
        "report_peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "page_bytes": len(page.encode()),
        "document_bytes": len(document.encode()),
        "comment_bytes": len(comment.encode()),
    }


def make_run(folder: Path, steps: int) -> None:
    """What the stages before the report leave of such a run; made up."""
    import numpy as np
    import pandas as pd

    from seedance_ops.cost.ledger import ledger_of
    from seedance_ops.cost.run_cost import price_runs, with_costs
    from seedance_ops.quality.judge import judge
    from seedance_ops.quality.statistics import summarise
    from seedance_ops.reporting.run_table import assemble
    from seedance_ops.reporting.run_tables import RunTables

    generator = np.random.default_rng(3)
    manifest = manifest_of(steps)
    runs = [steps_of(run, steps, generator) for run in manifest.runs]
    tables = RunTables(
        steps=pd.concat(runs, ignore_index=True),
        evaluations=evaluations_of(manifest.runs, steps, generator),
        checkpoint_writes=writes_of(manifest.runs),
        launches=launches_of(manifest.runs, generator),
        usage=usage_of(manifest.runs),
    )
    table = assemble(manifest, tables)
    costs = price_runs(table.frame, tables.launches, manifest.prices)
    measured = with_costs(table.frame, costs)
    statistics = summarise(manifest.job, measured)
    stages = {
        "manifest": manifest,
        "tables": {name: getattr(tables, name) for name in TABLES},
        "table": table,
        "costs": costs,
        "ledger": ledger_of(
            table.frame, tables.launches, tables.checkpoint_writes, manifest.prices, usage=tables.usage
        ),
        "statistics": statistics,
        "gates": judge(manifest.job, measured, statistics, table.missing),
    }
    tables.steps.to_parquet(folder / "steps.parquet")
    (folder / "stages.pickle").write_bytes(pickle.dumps(stages))


def manifest_of(steps: int):
    from seedance_ops.cost.catalogue import Price
    from seedance_ops.jobs.loader import load_job_text
    from seedance_ops.jobs.manifest import RunManifest, plan_runs
    from seedance_ops.jobs.profiles import LocalProfile

    ratios = "".join(
        f"  topk-{n}: {{gradient_compression: {{algorithm: topk_error_feedback, k_ratio: 0.0{n}}}}}\n"
        for n in range(1, VARIANTS)
    )
    text = f"""\
apiVersion: seedance.ops/v1
kind: TrainingJob
metadata: {{name: large, description: Made up}}
workload:
  entrypoint: examples/char_gpt.py
  batch: {{per_rank: 8}}
  stop: {{steps: {steps}}}
  quality: {{metric: val_loss, better: lower, target: 2.5}}
launcher: local
resources: {{accelerators: "cpu:{RANKS}"}}
variants:
  baseline: {{}}
{ratios}repeats: {{seeds: {SEEDS}}}
gates:
  - {{metric: bytes_on_wire, compared_to: baseline, change_at_most: {{relative: -0.45}}}}
  - {{metric: val_loss, compared_to: baseline, equivalent_within: {{absolute: 0.05}}}}
  - {{metric: usd_per_run, compared_to: baseline, change_at_most: {{relative: 0.0}}}}
"""
    job = load_job_text(text, Path("large.yaml"), project=None).job
    price = Price.model_validate(
        {
            "key": "local-cpu",
            "usd_per_accelerator_hour": 2.0,
            "source": "made up",
            "date": "2026-01-02",
            "basis": "list",
        }
    )
    return RunManifest(
        job=job,
        job_hash="0" * 64,
        source="large.yaml",
        run_id="run-1",
        runs=plan_runs(job, "run-1"),
        profiles={name: LocalProfile(kind="local", price="local-cpu") for name in job.variants},
        prices=dict.fromkeys(job.variants, price),
        planned_at_s=0.0,
    )


def steps_of(run, steps: int, generator):
    import numpy as np
    import pandas as pd

    step = np.arange(1, steps + 1)
    baseline = run.variant == "baseline"
    time_s = generator.normal(0.2 if baseline else 0.19, 0.01, steps).clip(0.05)
    return pd.DataFrame(
        {
            "variant": run.variant,
            "seed": run.seed,
            "submission": 1,
            "rank": 0,
            "world_size": RANKS,
            "step": step,
            "started_at_s": 1000.0 + step,
            "step_time_s": time_s,
            "compute_s": 0.8 * time_s,
            "communication_wait_s": 0.2 * time_s,
            "all_reduce_s": 0.3 * time_s,
            "checkpoint_stall_s": 0.0,
            "bytes_on_wire": 1000 if baseline else 60,
            "bytes_dense_fp32": 1000,
            "samples": 8,
            "tokens": np.nan,
            "model_flops": 1e12,
            "flops_method": "counted",
            "cpu_utilisation": generator.uniform(0.7, 0.9, steps),
            "gpu_utilisation": np.nan,
            "memory_bytes": 1_000_000,
            "train_loss": 2.0 + 3.0 / np.sqrt(step) + generator.normal(0.0, 0.05, steps),
        }
    )


def evaluations_of(runs, steps: int, generator):
    import pandas as pd

    rows = [
        {
            "variant": run.variant,
            "seed": run.seed,
            "submission": 1,
            "step": step,
            "samples_seen": 8 * step,
            "at_s": 1000.0 + step,
            "train_elapsed_s": 0.2 * step,
            "metric": "val_loss",
            "value": 2.0 + 3.0 / step**0.5 + float(generator.normal(0.0, 0.01)),
        }
        for run in runs
        for step in range(steps // EVALUATIONS, steps + 1, steps // EVALUATIONS)
    ]
    return pd.DataFrame(rows)


def writes_of(runs):
    import pandas as pd

    rows = [
        {"variant": run.variant, "seed": run.seed, "submission": 1, "step": n, "tier": tier}
        | {"bytes": 10**9, "write_s": 1.0 + 0.1 * n, "stall_s": 0.0}
        for run in runs
        for n in range(1, 6)
        for tier in ("local", "object")
    ]
    return pd.DataFrame(rows)


def usage_of(runs):
    import pandas as pd

    used = (("requests", "put", 12.0), ("egress", "-", 1.0), ("energy", "-", 0.02))
    rows = [
        {"variant": run.variant, "seed": run.seed, "submission": 1, "rank": 0, "at_s": 1000.0 + flush}
        | {"stage": stage, "component": component, "tier": tier, "quantity": quantity, "method": "made up"}
        for run in runs
        for flush in range(EVALUATIONS)
        for stage in ("run", "checkpoint")
        for component, tier, quantity in used
    ]
    return pd.DataFrame(rows)


def launches_of(runs, generator):
    from seedance_ops.reporting.run_tables import LAUNCHES, frame_of

    return frame_of(
        [
            {
                "variant": run.variant,
                "seed": run.seed,
                "take": 1,
                "submission": 1,
                "order": run.order,
                "state": "succeeded",
                "reason": None,
                "launcher": "local",
                "accelerator": "cpu",
                "num_nodes": 1,
                "accelerators_per_node": RANKS,
                "submitted_at_s": 900.0 + 2500.0 * run.order,
                "started_at_s": 1000.0 + 2500.0 * run.order,
                "ended_at_s": 3400.0 + 2500.0 * run.order,
                "queue_s": 100.0,
                "run_s": 2400.0 + float(generator.normal(0.0, 40.0)),
                "mean_cpu_utilisation": 0.7,
                "peak_memory_bytes": None,
            }
            for run in runs
        ],
        LAUNCHES,
    )


def result(name: str, values: list[float]) -> dict[str, object]:
    import statistics

    return {
        "metric": name,
        "unit": "s" if name.endswith("_s") else "MiB",
        "ours": statistics.median(values),
        "peers": {},
        "ratio_to_best_peer": None,
        "spread": statistics.quantiles(values, n=4)[::2],
        "n": len(values),
    }


def show(results: list[dict[str, object]], first: dict[str, float], steps: int) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(title=f"report of {VARIANTS} variants × {SEEDS} seeds × {steps:,} steps")
    for column in ("what", "median", "quartiles", "bar", "n"):
        table.add_column(column, justify="right")
    for row in results:
        low, high = row["spread"]
        name = str(row["metric"])
        table.add_row(
            name, f"{row['ours']:.1f}", f"{low:.1f} … {high:.1f}", f"{BARS[name]:.0f}", str(row["n"])
        )
    console = Console()
    console.print(table)
    console.print(
        f"page {first['page_bytes']:,} bytes of at most {LARGEST_PAGE:,}; data {first['document_bytes']:,}"
    )


if __name__ == "__main__":
    sys.exit(main())
