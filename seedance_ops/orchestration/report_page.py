"""Serves a run's report on Airflow's own web server, to whoever may read the DAG's runs there."""

from __future__ import annotations

import json
from typing import Any, Literal

from airflow.api_fastapi.app import get_auth_manager
from airflow.api_fastapi.auth.managers.models.resource_details import DagAccessEntity, DagDetails
from airflow.api_fastapi.core_api.security import GetUserDep
from airflow.models.xcom import XCOM_RETURN_KEY, XComModel
from airflow.utils.session import NEW_SESSION, provide_session
from fastapi import FastAPI, HTTPException
from fastapi.responses import Response
from sqlalchemy.orm import Session

from seedance_ops.orchestration.hooks import StorageHook

_MEDIA = {"html": "text/html; charset=utf-8", "json": "application/json"}
_HEADERS = {
    # The report is one self-contained file: nothing it holds may load or run anything from elsewhere.
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; img-src data:",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}


def report_app() -> FastAPI:
    """The application that the plugin mounts under ``report_path.PREFIX``."""
    app = FastAPI(title="Seedance reports")

    @app.get("/report/{dag_id}/{run_id}")
    def report(
        dag_id: str, run_id: str, user: GetUserDep, form: Literal["html", "json"] = "html"
    ) -> Response:
        """The report of one run."""
        may_read = get_auth_manager().is_authorized_dag(
            method="GET", access_entity=DagAccessEntity.RUN, details=DagDetails(id=dag_id), user=user
        )
        if not may_read:
            raise HTTPException(403, "you may not read this DAG's runs")
        return Response(_report_of(dag_id, run_id, form), media_type=_MEDIA[form], headers=_HEADERS)

    return app


def _report_of(dag_id: str, run_id: str, form: str) -> bytes:
    from seedance_ops.storage.client import ObjectStore
    from seedance_ops.storage.config import StorageLocation
    from seedance_ops.storage.errors import ObjectMissing, StorageError

    written = _location_of(dag_id, run_id)
    if written is None:
        raise HTTPException(404, "this run has no report yet")
    StorageHook().activate()
    try:
        return ObjectStore(StorageLocation.model_validate(written)).get(f"report.{form}")
    except ObjectMissing:
        raise HTTPException(404, f"the report in {written['uri']} is not there any more") from None
    except StorageError as error:
        raise HTTPException(502, f"the object store does not answer: {error}") from None


@provide_session
def _location_of(dag_id: str, run_id: str, session: Session = NEW_SESSION) -> dict[str, Any] | None:
    """Where the run's ``report`` task says that it put the report; a job may keep its runs anywhere."""
    row = session.scalars(
        XComModel.get_many(run_id=run_id, dag_ids=dag_id, task_ids="report", key=XCOM_RETURN_KEY, limit=1)
    ).first()
    if row is None:
        return None
    value = XComModel.deserialize_value(row)
    return dict(json.loads(value) if isinstance(value, str) else value)
