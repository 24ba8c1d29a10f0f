"""The ``seedance`` command."""

from seedance_ops.cli.app import main

__all__ = ["main"]
