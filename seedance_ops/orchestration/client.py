"""Airflow's REST API, as far as running a job from the command line needs it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Literal

import httpx

from seedance_ops.orchestration.question_path import question_path
from seedance_ops.orchestration.report_path import report_path

_SIGN_IN = "/auth/token"


class AirflowRefused(RuntimeError):  # noqa: N818 - an answer, not a fault
    """Airflow answered with an error; the message holds its own words."""


def run_id_now() -> str:
    """A fresh run id in Airflow's own form for runs that a person starts."""
    return f"manual__{datetime.now(UTC).isoformat()}"


class AirflowAway(AirflowRefused):
    """Airflow did not answer: it may be restarting."""


class AirflowClient:
    """A signed-in session with one Airflow; signs in again when its token has expired.

    Args:
        url: Its base URL.
        user: Who signs in.
        password: The user's password.
    """

    def __init__(self, url: str, user: str, password: str) -> None:
        self._http = httpx.Client(base_url=url, timeout=30)
        self._credentials = {"username": user, "password": password}
        self._sign_in()

    @property
    def authorization(self) -> dict[str, str]:
        """The header that signs a request in."""
        return {"Authorization": self._http.headers["Authorization"]}

    def source(self, dag_id: str) -> str | None:
        """The stub that Airflow has parsed for a DAG; None where it knows none."""
        answer = self._send("GET", f"/api/v2/dagSources/{dag_id}", headers={"Accept": "application/json"})
        return str(answer.json()["content"]) if answer.is_success else None

    def import_error(self, source: str) -> str | None:
        """The import error of the stub that names a source file, if there is one."""
        errors = self._call("GET", "/api/v2/importErrors", params={"limit": 100})["import_errors"]
        return next((error["stack_trace"] for error in errors if source in error["stack_trace"]), None)

    def is_paused(self, dag_id: str) -> bool:
        """Whether the DAG's schedule and runs are on hold."""
        return bool(self._call("GET", f"/api/v2/dags/{dag_id}")["is_paused"])

    def pause(self, dag_id: str, *, paused: bool) -> None:
        """Hold or release the DAG."""
        self._call("PATCH", f"/api/v2/dags/{dag_id}", json={"is_paused": paused})

    def trigger(self, dag_id: str, run_id: str, conf: Mapping[str, Any]) -> None:
        """Start a run under a given id."""
        body = {"dag_run_id": run_id, "logical_date": datetime.now(UTC).isoformat(), "conf": dict(conf)}
        self._call("POST", f"/api/v2/dags/{dag_id}/dagRuns", json=body)

    def run_state(self, dag_id: str, run_id: str) -> str:
        """``queued``, ``running``, ``success`` or ``failed``."""
        return str(self._call("GET", f"/api/v2/dags/{dag_id}/dagRuns/{run_id}")["state"])

    def fail_run(self, dag_id: str, run_id: str) -> None:
        """End a run: its tasks are killed, which cancels what they launched."""
        self._call("PATCH", f"/api/v2/dags/{dag_id}/dagRuns/{run_id}", json={"state": "failed"})

    def task_instances(self, dag_id: str, run_id: str) -> list[dict[str, Any]]:
        """Every task instance of a run."""
        path = f"/api/v2/dags/{dag_id}/dagRuns/{run_id}/taskInstances"
        found: list[dict[str, Any]] = []
        while True:
            page = self._call("GET", path, params={"limit": 100, "offset": len(found)})
            found += page["task_instances"]
            if not page["task_instances"] or len(found) >= page["total_entries"]:
                return found

    def report(self, dag_id: str, run_id: str, form: Literal["html", "json"]) -> str | None:
        """A run's report; None where it has none."""
        answer = self._send("GET", report_path(dag_id, run_id), params={"form": form})
        if answer.status_code == httpx.codes.NOT_FOUND:
            return None
        if answer.is_error:
            raise AirflowRefused(f"the report cannot be had: {answer.status_code} {answer.text[:500]}")
        return answer.text

    def question_url(self, dag_id: str, run_id: str) -> str:
        """Where a browser shows what a run asks a person."""
        return f"{str(self._http.base_url).rstrip('/')}{question_path(dag_id, run_id)}"

    def _call(self, method: str, path: str, **request: Any) -> dict[str, Any]:
        answer = self._send(method, path, **request)
        if answer.is_error:
            raise AirflowRefused(f"{method} {path}: {answer.status_code} {answer.text[:500]}")
        return dict(answer.json()) if answer.content else {}

    def _send(self, method: str, path: str, **request: Any) -> httpx.Response:
        try:
            answer = self._http.request(method, path, **request)
            if answer.status_code == httpx.codes.UNAUTHORIZED and path != _SIGN_IN:
                self._sign_in()
                answer = self._http.request(method, path, **request)
        except httpx.TransportError as error:
            raise AirflowAway(f"Airflow at {self._http.base_url} does not answer: {error}") from error
        return answer

    def _sign_in(self) -> None:
        token = self._call("POST", _SIGN_IN, json=self._credentials)
        self._http.headers["Authorization"] = f"Bearer {token['access_token']}"
