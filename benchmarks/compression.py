"""What each compressor sends, waits and loses, beside torch's own hooks.

    python benchmarks/compression.py quality [--tasks …] [--compressors …] [--seeds N] [--no-tuning]
    python benchmarks/compression.py links [--rounds N]
    python benchmarks/compression.py decide
    python benchmarks/compression.py [--json FILE]

``quality`` trains, two real ranks over loopback, and keeps each run's outcome in ``--directory``: it is hours
on two cores, can be stopped, and goes on where it was. ``links`` times interleaved steps in the network
laboratory, which needs root; ``decide`` lets ``auto`` choose on each link, and times that beside bf16.
Without a command the tables of what was measured so far are printed; a first time measures a little of both.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from compression_study.compressors import OURS, TORCH
from compression_study.decisions import TIERS, Decisions
from compression_study.links import LINKS, Timings
from compression_study.quality import Study, Training, tuning
from compression_study.tables import print_tables, results_of
from compression_study.tasks import RECIPES
from contract import write_results

from seedance_ops.netlab.errors import LabNotPossible

DIRECTORY = Path(__file__).parent / "results/compression-study"
TUNED = ("dense", "powersgd")
"""Compressors whose learning rate is tuned; the others take that of the dense run."""

STEPS_AFTER = 20
"""Timed after ``auto`` has settled, and of bf16."""


def main() -> int:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("command", nargs="?", choices=["quality", "links", "decide"])
    options.add_argument("--tasks", nargs="+", default=list(RECIPES), choices=list(RECIPES))
    options.add_argument("--compressors", nargs="+", default=[*OURS, *TORCH], choices=[*OURS, *TORCH])
    options.add_argument("--seeds", type=int, default=8)
    options.add_argument("--no-tuning", action="store_true", help="take each recipe's first learning rate")
    options.add_argument("--rounds", type=int, default=15)
    options.add_argument("--directory", type=Path, default=DIRECTORY)
    options.add_argument("--json", type=Path)
    chosen = options.parse_args()
    study, timings = Study(chosen.directory), Timings(chosen.directory)
    decisions = Decisions(chosen.directory)
    if chosen.command == "quality":
        for task in chosen.tasks:
            train(study, task, chosen.compressors, chosen.seeds, tune=not chosen.no_tuning)
    elif chosen.command == "links":
        time_links(timings, chosen.compressors, chosen.rounds)
    elif chosen.command == "decide":
        let_auto_decide(decisions)
    elif not study.trainings():
        train(study, "digits", ["dense", "powersgd"], 3, tune=False)
        time_links(timings, ["dense", "bf16", "powersgd"], 3)
    print_tables(study, timings, decisions)
    if chosen.json:
        write_results(chosen.json, "compression", results_of(study, timings, decisions))
    return 0


def train(study: Study, task: str, compressors: list[str], seeds: int, *, tune: bool) -> None:
    """Learning rates first, then seed after seed, so that an interrupted study is a paired one."""
    if tune:
        study.run(list(tuning(task, [name for name in TUNED if name in compressors])))
    study.run(
        [
            Training(task, name, seed, study.learning_rate(task, name), RECIPES[task].steps)
            for seed in range(seeds)
            for name in compressors
        ]
    )


def time_links(timings: Timings, compressors: list[str], rounds: int) -> None:
    try:
        for link in LINKS:
            timings.measure(link, compressors, rounds)
    except LabNotPossible as missing:
        print(f"links not measured: {missing}", file=sys.stderr)


def let_auto_decide(decisions: Decisions) -> None:
    try:
        for link in LINKS:
            for tier in TIERS:
                decisions.measure(link, tier, STEPS_AFTER)
    except LabNotPossible as missing:
        print(f"decisions not measured: {missing}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
