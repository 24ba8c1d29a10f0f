"""``seedance netlab -- COMMAND``: the ranks of a job on links of a chosen speed, and what each one sent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from seedance_ops.cli.output import JsonOption, print_json

if TYPE_CHECKING:
    from seedance_ops.netlab.counters import Sent
    from seedance_ops.netlab.lab import LabRun, NetworkLab
    from seedance_ops.netlab.ranks import OutputLine

app = typer.Typer(add_completion=False)


@app.command()
def netlab(
    command: Annotated[
        list[str],
        typer.Argument(
            metavar="COMMAND",
            help="Behind --: run once per rank, with torchrun's variables.",
            show_default=False,
        ),
    ],
    *,
    mbit: Annotated[
        float | None, typer.Option(help="Mbit/s that each rank may send, 0.1 to 100000; not given: unshaped.")
    ] = None,
    ranks: Annotated[int, typer.Option(help="Processes, each in a network of its own, 1 to 1023.")] = 2,
    burst_kb: Annotated[
        int | None,
        typer.Option(help="KiB that an idle link sends at once, 4 to 65536; not given: 2 ms, at least 32."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Run COMMAND once per rank over a shaped network, and print what each rank sent. Needs root.

    Exit code: that of the first rank that failed, 0 if none did; 1: the laboratory failed; 2: wrong use, or
    this machine cannot build one; 130: interrupted. Nothing of the laboratory is left in any case.
    """
    from pydantic import ValidationError

    from seedance_ops.cli.interruption import interrupt_on_signals
    from seedance_ops.netlab.errors import LabError, LabNotPossible
    from seedance_ops.netlab.lab import NetworkLab

    interrupt_on_signals()
    try:
        with NetworkLab(ranks=ranks, mbit=mbit, burst_kb=burst_kb) as lab:
            run = lab.run(lambda _: command, on_line=_print_to_standard_error if as_json else _print)
    except ValidationError as refused:
        for error in refused.errors():
            option = f"--{str(error['loc'][0]).replace('_', '-')}"
            typer.echo(f"error: {option} {error['input']}: {error['msg'].lower()}", err=True)
        raise typer.Exit(2) from None
    except LabError as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(2 if isinstance(error, LabNotPossible) else 1) from None
    except KeyboardInterrupt:
        typer.echo("interrupted: every rank has ended and the network is removed", err=True)
        raise typer.Exit(130) from None
    if as_json:
        print_json(_as_json(lab, run))
    else:
        _print_table(lab, run)
    if run.failed_first is not None:
        typer.echo(f"error: rank {run.failed_first} failed first, with exit code {run.exit_code}", err=True)
    raise typer.Exit(run.exit_code)


def _print(line: OutputLine) -> None:
    typer.echo(f"[{line.rank}] {line.text}", err=line.is_error)


def _print_to_standard_error(line: OutputLine) -> None:
    typer.echo(f"[{line.rank}] {line.text}", err=True)


def _as_json(lab: NetworkLab, run: LabRun) -> dict[str, object]:
    return {
        **lab.shape.model_dump(),
        "wall_s": run.wall_s,
        "exit_code": run.exit_code,
        "failed_first": run.failed_first,
        "by_rank": [
            {
                "rank": outcome.rank,
                "exit_code": outcome.exit_code,
                "bytes_sent": sent.bytes,
                "tcp_payload_bytes": sent.tcp_payload_bytes,
                "mean_mbit_per_s": _mbit_per_s(sent, run.wall_s),
            }
            for outcome, sent in zip(run.ranks, run.sent, strict=True)
        ],
    }


def _print_table(lab: NetworkLab, run: LabRun) -> None:
    from rich.console import Console
    from rich.table import Table

    link = "unshaped links" if lab.shape.mbit is None else f"links of {lab.shape.mbit:g} Mbit/s"
    table = Table(title=f"{run.wall_s:.1f} s over {link}")
    for column in ("rank", "exit code", "bytes sent", "mean Mbit/s"):
        table.add_column(column, justify="right")
    for outcome, sent in zip(run.ranks, run.sent, strict=True):
        rate = f"{_mbit_per_s(sent, run.wall_s):.2f}"
        table.add_row(str(outcome.rank), str(outcome.exit_code), f"{sent.bytes:,}", rate)
    Console().print(table)


def _mbit_per_s(sent: Sent, wall_s: float) -> float:
    return sent.bytes * 8 / 1e6 / wall_s
