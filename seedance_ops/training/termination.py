"""Notices SIGTERM without acting on it in the middle of something: the session asks between steps."""

from __future__ import annotations

import signal
import threading
from types import FrameType


class Termination:
    """Whether this process was asked to stop."""

    def __init__(self) -> None:
        self.requested = False
        self._previous: signal.Handlers | int | object | None = None
        self._installed = False

    def watch(self) -> None:
        """Catch SIGTERM from here on; only a main thread can."""
        if threading.current_thread() is threading.main_thread():
            self._previous = signal.signal(signal.SIGTERM, self._note)
            self._installed = True

    def release(self) -> None:
        """Give SIGTERM back to whoever had it."""
        if self._installed:
            signal.signal(signal.SIGTERM, self._previous or signal.SIG_DFL)  # type: ignore[arg-type]
            self._installed = False

    def _note(self, _signum: int, _frame: FrameType | None) -> None:
        self.requested = True
