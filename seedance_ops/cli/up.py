"""``seedance up``: Airflow with its page, the object store, and the project's jobs, until Ctrl-C."""

from __future__ import annotations

import signal
import time
from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(add_completion=False)


@app.command()
def up(
    *,
    port: Annotated[int, typer.Option(min=1, max=65535, help="Of the web page.")] = 8080,
    host: Annotated[
        str, typer.Option(help="Address to listen on; all of a container is 0.0.0.0.")
    ] = "127.0.0.1",
) -> None:
    """Start Airflow and the object store, print the sign-in, and stop both on Ctrl-C."""
    from seedance_ops.cli.interruption import interrupt_on_signals
    from seedance_ops.cli.run import airflow_home
    from seedance_ops.jobs.project import ProjectContext
    from seedance_ops.orchestration.embedded.components import EmbeddedAirflow, EmbeddedAirflowError
    from seedance_ops.orchestration.embedded.settings import USER, keys_of
    from seedance_ops.orchestration.embedded.unusable_home import home_is_unusable
    from seedance_ops.storage.server import EmbeddedStoreError

    project = ProjectContext.discover(Path.cwd())
    if project is None:
        typer.echo("error: no include/jobs here or above: not in a project", err=True)
        raise typer.Exit(2)
    home = airflow_home(project.root)
    airflow = EmbeddedAirflow(home, project, port=port, host=host)
    interrupt_on_signals()
    try:
        airflow.start(lambda what: typer.echo(f"starting {what} …"))
        typer.echo(f"\n  http://localhost:{port}   user {USER}   password {keys_of(home).password}\n")
        typer.echo("Ctrl-C stops everything.")
        while True:
            time.sleep(2)
            airflow.watch()
    except (EmbeddedAirflowError, EmbeddedStoreError) as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(1) from None
    except OSError as error:
        typer.echo(f"error: {home_is_unusable(home, error)}", err=True)
        raise typer.Exit(1) from None
    except KeyboardInterrupt:
        typer.echo("\nstopping …")
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # a second Ctrl-C must not leave processes behind
        airflow.stop()
