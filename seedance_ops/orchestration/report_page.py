"""Serves a run's report on Airflow's own web server, to whoever may read the DAG's runs there."""

from __future__ import annotations

from airflow.api_fastapi.app import get_auth_manager
from airflow.api_fastapi.auth.managers.models.resource_details import DagAccessEntity, DagDetails
from airflow.api_fastapi.core_api.security import GetUserDep
from airflow.models.xcom import XCOM_RETURN_KEY, XComModel
from airflow.utils.session import NEW_SESSION, provide_session
from fastapi import FastAPI, HTTPException
from fastapi.responses import HTMLResponse
from sqlalchemy.orm import Session

from seedance_ops.orchestration.hooks import StorageHook

# The report is one self-contained file: nothing it holds may load or run anything from elsewhere.
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; img-src data:",
    "X-Content-Type-Options": "nosniff",
}


def report_app() -> FastAPI:
    """The application that the plugin mounts under ``/seedance``."""
    app = FastAPI(title="Seedance reports")

    @app.get("/report/{dag_id}/{run_id}")
    def report(dag_id: str, run_id: str, user: GetUserDep) -> HTMLResponse:
        """The report of one run, as HTML."""
        may_read = get_auth_manager().is_authorized_dag(
            method="GET", access_entity=DagAccessEntity.RUN, details=DagDetails(id=dag_id), user=user
        )
        if not may_read:
            raise HTTPException(403, "you may not read this DAG's runs")
        return HTMLResponse(_report_of(dag_id, run_id), headers=_HEADERS)

    return app


def _report_of(dag_id: str, run_id: str) -> str:
    from seedance_ops.storage.client import ObjectStore
    from seedance_ops.storage.errors import ObjectMissing, StorageError

    uri = _uri_of(dag_id, run_id)
    if uri is None:
        raise HTTPException(404, "this run has no report yet")
    folder, _, name = uri.rpartition("/")
    hook = StorageHook()
    hook.activate()
    try:
        return ObjectStore(hook.location.model_copy(update={"uri": folder})).get(name).decode()
    except ObjectMissing:
        raise HTTPException(404, f"{uri} is not there any more") from None
    except StorageError as error:
        raise HTTPException(502, f"the object store does not answer: {error}") from None


@provide_session
def _uri_of(dag_id: str, run_id: str, session: Session = NEW_SESSION) -> str | None:
    """Where the run's ``report`` task says that it put the report; jobs may keep their runs anywhere."""
    row = session.scalars(
        XComModel.get_many(run_id=run_id, dag_ids=dag_id, task_ids="report", key=XCOM_RETURN_KEY, limit=1)
    ).first()
    return str(XComModel.deserialize_value(row)) if row else None
