"""One thread that works through one task at a time, and what became of them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Background(Generic[T]):
    """Training asks whether it is busy before it hands over a task: nothing queues here."""

    def __init__(self, name: str) -> None:
        """No thread is started before the first task."""
        self._name = name
        self._changed = threading.Condition()
        self._task: Callable[[], T] | None = None
        self._thread: threading.Thread | None = None
        self._closed = False
        self._done: list[T] = []
        self._failure: Exception | None = None

    @property
    def busy(self) -> bool:
        """Whether a task is under way."""
        with self._changed:
            return self._task is not None

    def begin(self, task: Callable[[], T]) -> None:
        """Start a task; nothing may be under way."""
        with self._changed:
            assert self._task is None, f"{self._name} is busy"
            assert not self._closed, f"{self._name} is closed"
            self._task = task
            if self._thread is None:
                # A daemon: what ends training must not wait for a store that does not answer.
                self._thread = threading.Thread(target=self._work, name=self._name, daemon=True)
                self._thread.start()
            self._changed.notify_all()

    def wait(self, patience_s: float | None = None) -> bool:
        """Wait until nothing is under way; whether that came true."""
        with self._changed:
            return self._changed.wait_for(lambda: self._task is None, patience_s)

    def results(self) -> list[T]:
        """What tasks have returned since the last call."""
        with self._changed:
            done, self._done = self._done, []
            return done

    def failure(self) -> Exception | None:
        """What the last task that failed since the last call has raised."""
        with self._changed:
            failure, self._failure = self._failure, None
            return failure

    def close(self, patience_s: float) -> None:
        """Begin nothing more; wait for what is under way, so long."""
        self.wait(patience_s)
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def _work(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._task is not None or self._closed)
                task = self._task
                if task is None:
                    return
            try:
                result, failure = task(), None
            except Exception as error:  # noqa: BLE001 - whatever it is, training must hear of it
                result, failure = None, error
            with self._changed:
                if failure is None:
                    self._done.append(result)  # type: ignore[arg-type]
                else:
                    self._failure = failure
                self._task = None
                self._changed.notify_all()
