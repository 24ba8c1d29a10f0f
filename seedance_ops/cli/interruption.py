"""Every way of asking a command to end is Ctrl-C to it, so that none leaves a process behind."""

from __future__ import annotations

import signal


def interrupt_on_signals() -> None:
    """Raise ``KeyboardInterrupt`` on SIGINT, SIGTERM and SIGHUP.

    SIGINT too: a shell starts background jobs with it ignored, and Python would then leave it so.
    """
    for sign in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(sign, signal.default_int_handler)
