"""From a job to its Airflow DAG: what a bundle's stub calls at parse time, so nothing here does any work."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow.sdk import (
    DAG,
    AssetAlias,
    CronTriggerTimetable,
    Param,
    TriggerRule,
    get_parsing_context,
    task_group,
)

from seedance_ops.jobs.audit_job import AuditJob
from seedance_ops.jobs.catalog import launcher_profile
from seedance_ops.jobs.loader import Job, load_job_text
from seedance_ops.jobs.param_forms import param_schemas
from seedance_ops.jobs.project import ProjectContext
from seedance_ops.jobs.training_job import TrainingJob
from seedance_ops.orchestration.build_audit import audit_stages
from seedance_ops.orchestration.failures import retry_policy
from seedance_ops.orchestration.operators.analysis import (
    CollectOperator,
    CostOperator,
    QualityGateOperator,
    StatisticsOperator,
)
from seedance_ops.orchestration.operators.block import BlockTrainingOperator
from seedance_ops.orchestration.operators.check_environment import CheckEnvironmentOperator
from seedance_ops.orchestration.operators.launch import LaunchTrainingOperator
from seedance_ops.orchestration.operators.plan import PlanOperator
from seedance_ops.orchestration.operators.report import ReportOperator, VerdictOperator
from seedance_ops.orchestration.operators.select import SelectVariantsOperator
from seedance_ops.orchestration.operators.stage import StageOperator
from seedance_ops.orchestration.operators.workspace import CloseWorkspaceOperator, OpenWorkspaceOperator
from seedance_ops.orchestration.pools import pool_of
from seedance_ops.orchestration.submissions import SPARE_TRIES

if TYPE_CHECKING:
    from airflow.sdk.definitions._internal.node import DAGNode

TRAIN_TASK = "train"
SCREEN_TASK = "screen"
_RETRY_DELAY = timedelta(seconds=10)


def build_dag(text: str, *, source: str, project: str, defaults: Mapping[str, str] | None = None) -> DAG:
    """The DAG of a job.

    Args:
        text: The YAML.
        source: The file it came from, relative to the project.
        project: The project's root.
        defaults: The text of each ``defaults.yaml`` that applies, by path relative to the project.

    Raises:
        JobErrors: The job is not valid; Airflow shows it as an import error of this one file.
    """
    # A worker runs what was parsed when the run began: whatever has happened to the project's files since
    # must not change it, so only the DAG processor looks at them.
    at_work = get_parsing_context().dag_id is not None
    context = None if at_work else ProjectContext(Path(project))
    pinned = {Path(project, name): content for name, content in (defaults or {}).items()}
    job = load_job_text(text, Path(project, source), project=context, defaults=pinned).job
    with DAG(
        dag_id=job.metadata.name,
        description=job.metadata.description,
        schedule=_schedule(job),
        catchup=bool(job.schedule and job.schedule.catchup),
        params=_params(job),
        default_args={"owner": job.metadata.owner or "airflow", "retries": 1, "retry_delay": _RETRY_DELAY},
        tags=["seedance", job.kind, *(f"{key}:{value}" for key, value in job.metadata.labels.items())],
        doc_md=_documentation(job, source, text),
        render_template_as_native_obj=False,
    ) as dag:
        if isinstance(job, AuditJob):
            audit_stages(job, source, project)
        else:
            pool = pool_of(launcher_profile(job.launcher, context)) if context else None
            _stages(job, source, project, pool)
    return dag


def _stages(job: TrainingJob, source: str, project: str, pool: str | None) -> None:
    common: dict[str, Any] = {
        "job_name": job.metadata.name,
        "storage": job.storage.model_dump(mode="json", exclude_unset=True) if job.storage else None,
    }
    opened = OpenWorkspaceOperator(task_id="open_workspace", **common).as_setup()
    plan = PlanOperator(task_id="plan", job=job, source=source, project=project, storage=common["storage"])
    check = CheckEnvironmentOperator(task_id="check_environment", project=project, **common)
    opened >> plan >> check
    trainings: list[DAGNode] = []
    chosen: StageOperator = plan
    if job.phases:
        screened = _trainings(SCREEN_TASK, job, plan, pool, common)
        chosen = SelectVariantsOperator(task_id="select", trigger_rule=TriggerRule.ALL_DONE, **common)
        check >> screened >> chosen
        trainings.append(screened)
    train = _trainings(TRAIN_TASK, job, chosen, pool, common)
    trainings.append(train)
    collect = CollectOperator(task_id="collect", trigger_rule=TriggerRule.ALL_DONE, **common)
    cost = CostOperator(task_id="cost", **common)
    statistics = StatisticsOperator(task_id="statistics", **common)
    gate = QualityGateOperator(task_id="quality_gate", project=project, **common)
    report = ReportOperator(task_id="report", trigger_rule=TriggerRule.ALL_DONE, **common)
    verdict = VerdictOperator(
        task_id="verdict",
        trigger_rule=TriggerRule.ALL_DONE,
        retries=0,
        outlets=[AssetAlias(accepted_alias(job.metadata.name))],
        **common,
    )
    closed = CloseWorkspaceOperator(task_id="close_workspace", **common).as_teardown(
        setups=opened, on_failure_fail_dagrun=True
    )
    check >> train >> collect >> cost >> statistics >> gate >> report >> verdict
    if job.asks_a_person:
        from seedance_ops.orchestration.operators.approval import AskForApprovalOperator  # its imports cost

        report >> AskForApprovalOperator(terms=job.approval, **common) >> verdict
    for launched in (*trainings, collect):
        launched >> closed


def _trainings(
    task_id: str, job: TrainingJob, chosen: StageOperator, pool: str | None, common: dict[str, Any]
) -> DAGNode:
    """One mapped task for every training that ``chosen`` returns, or one mapped group for every block."""
    launching: dict[str, Any] = {
        **({"pool": pool} if pool else {}),
        "retries": job.limits.retries + SPARE_TRIES,
        "retry_delay": _RETRY_DELAY,
        "retry_policy": retry_policy(),
        **common,
    }
    if job.repeats.block == "allocation":
        return _blocks(task_id, job, chosen, launching)
    return LaunchTrainingOperator.partial(
        task_id=task_id, map_index_template="{{ task.variant }} seed {{ task.seed }}", **launching
    ).expand_kwargs(chosen.output)


def _blocks(task_id: str, job: TrainingJob, chosen: StageOperator, launching: dict[str, Any]) -> DAGNode:
    """A chain of trainings for every seed; one that fails does not keep the next from running."""

    @task_group(group_id=task_id)
    def trainings_of(block: Any) -> None:
        earlier: BlockTrainingOperator | None = None
        for position in range(len(job.variants)):
            training = BlockTrainingOperator(
                task_id=f"run_{position + 1}",
                map_index_template="{{ task.label }}",
                block=block,
                position=position,
                trigger_rule=TriggerRule.ALL_DONE if position else TriggerRule.ALL_SUCCESS,
                weight_rule="absolute",
                priority_weight=position + 1,  # a block that has begun goes before one that has not
                **launching,
            )
            if earlier is not None:
                earlier >> training
            earlier = training

    group: DAGNode = trainings_of.expand(block=chosen.output)
    return group


def accepted_alias(job_name: str) -> str:
    """The alias under which a job's accepted results go out."""
    return f"seedance-{job_name}"


def _params(job: Job) -> dict[str, Param]:
    if isinstance(job, AuditJob):
        return {}
    return {path: _param(schema) for path, schema in param_schemas(job).items()}


def _param(schema: dict[str, Any]) -> Param:
    return Param(**schema)


def _schedule(job: Job) -> CronTriggerTimetable | None:
    if job.schedule is None:
        return None
    # Without a start date and with no patience for the past, a job that is switched on waits for its next
    # tick: nobody pays for last Monday's run. `catchup` makes up for ticks missed after the first.
    return CronTriggerTimetable(
        job.schedule.cron, timezone=job.schedule.timezone, run_immediately=timedelta(0)
    )


def _documentation(job: Job, source: str, text: str) -> str:
    if isinstance(job, AuditJob):
        what = f"Audits `{job.published}`"
    else:
        variants = ", ".join(f"`{name}`" for name in job.variants)
        what = f"{len(job.variants)} variants ({variants}) × {job.repeats.seeds} seeds"
    return (
        f"{job.metadata.description or job.metadata.name}\n\n{what}, from `{source}`:\n\n"
        f"```yaml\n{text.replace('```', '` ` `')}\n```"
    )
