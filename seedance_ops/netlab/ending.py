"""Signals that end a process reach a laboratory as an exception, and cannot cut its removal short."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def interrupted_by_signals() -> Iterator[None]:
    """SIGTERM and SIGHUP raise ``KeyboardInterrupt``, where nothing else was arranged for them.

    Their default ends Python without running any ``finally``.
    """
    default = [sign for sign in _ENDING if _in_main_thread() and signal.getsignal(sign) == signal.SIG_DFL]
    with _handled(default, signal.default_int_handler):
        yield


@contextmanager
def signals_ignored() -> Iterator[None]:
    """A second Ctrl-C must not leave half a laboratory behind."""
    with _handled(list(_ENDING) if _in_main_thread() else [], signal.SIG_IGN):
        yield


@contextmanager
def _handled(signs: list[signal.Signals], handler: Any) -> Iterator[None]:
    before = {sign: signal.signal(sign, handler) for sign in signs}
    try:
        yield
    finally:
        for sign, previous in before.items():
            signal.signal(sign, previous)


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()
