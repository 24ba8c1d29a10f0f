"""The first stage: fix what this run consists of, so that no later edit can change it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from airflow.sdk import Context
from airflow.sdk.exceptions import AirflowFailException

from seedance_ops.cost.catalogue import PriceCatalogue
from seedance_ops.jobs.catalog import launcher_profile, price_catalogue
from seedance_ops.jobs.device_profiles import device_profiles
from seedance_ops.jobs.errors import JobErrors
from seedance_ops.jobs.identity import job_hash
from seedance_ops.jobs.manifest import CodeVersion, RunManifest, plan_runs, plan_screening
from seedance_ops.jobs.overrides import apply_overrides
from seedance_ops.jobs.param_forms import param_schema, param_schemas
from seedance_ops.jobs.project import ProjectContext
from seedance_ops.jobs.provenance import stamp_of
from seedance_ops.jobs.run_store import RunStore
from seedance_ops.jobs.training_job import TrainingJob
from seedance_ops.orchestration.operators.block import mapped_arguments
from seedance_ops.orchestration.operators.stage import StageOperator


class PlanOperator(StageOperator):
    """Apply the run's params, fix prices and code, and write the manifest.

    Args:
        job: The job as its file has it.
        source: The job file, relative to the project.
        project: The project's root on this machine.
    """

    def __init__(self, *, job: TrainingJob, source: str, project: str, **kwargs: Any) -> None:
        super().__init__(job_name=job.metadata.name, **kwargs)
        self.job = job
        self.source = source
        self.project = project

    def execute(self, context: Context) -> list[dict[str, Any]]:
        """Write the manifest; returns the mapped arguments of the first trainings.

        A run is planned once: a cleared ``plan`` returns what was planned, unless the code or the params
        have changed, which is refused because treatments would mix.
        """
        run = self.run_store(context)
        overrides, job = self._overridden(context["params"])
        catalogue = price_catalogue(ProjectContext(Path(self.project)))
        manifest = self._manifest(context["run_id"], job, overrides, run, catalogue)
        if (earlier := _planned_before(run, manifest)) is not None:
            manifest = earlier
        else:
            self._refuse_a_broken_suite()
            manifest = self._with_reused_baseline(manifest)
            self._refuse_implausible_prices(manifest, catalogue)
            self._refuse_over_budget(manifest)
            run.write("manifest.json", manifest)
        first = manifest.screening_runs or manifest.to_train
        mapped = mapped_arguments(job, first)
        self.log.info("%d trainings of job %s", len(first), manifest.job_hash[:12])
        return mapped

    def _refuse_a_broken_suite(self) -> None:
        """The gates would say so too, when everything has been paid for."""
        from seedance_ops.quality.suite_files import load_suite

        try:
            load_suite(Path(self.project))
        except JobErrors as errors:
            raise AirflowFailException(errors.render()) from None

    def _overridden(self, params: Mapping[str, Any]) -> tuple[dict[str, Any], TrainingJob]:
        project = ProjectContext(Path(self.project))
        try:
            overrides = overrides_of(self.job, params)
            return overrides, apply_overrides(self.job, overrides, project=project)
        except JobErrors as errors:
            raise AirflowFailException(errors.render()) from None  # another try would read the same

    def _with_reused_baseline(self, manifest: RunManifest) -> RunManifest:
        """Decided here once, and kept in the manifest: a retry or a cleared task decides nothing anew."""
        from seedance_ops.planning.history import History
        from seedance_ops.planning.reuse import reusable_baseline

        job = manifest.job
        if job.repeats.reuse_baseline is None:
            return manifest
        history = History(self.base, job.metadata.name).records()
        stamp = stamp_of(manifest, Path(self.project))
        reuse = reusable_baseline(manifest, stamp, history, now_s=manifest.planned_at_s)
        for reason in reuse.reasons:
            self.log.info("The baseline is not reused: %s", reason)
        if reuse.runs is None:
            return manifest
        self.log.info("%s: reusing its runs in %s", job.baseline, reuse.runs.run_id)
        return manifest.model_copy(update={"reused": {job.baseline: reuse.runs}})

    def _refuse_implausible_prices(self, manifest: RunManifest, catalogue: PriceCatalogue) -> None:
        """A price in another unit would give a verdict that nobody doubts; what is merely odd is logged."""
        from seedance_ops.cost.hardware import load_hardware
        from seedance_ops.cost.price_checks import price_sanity

        project = ProjectContext(Path(self.project))
        if not project.hardware_file.is_file():
            return
        used = {price.key for price in manifest.prices.values()}
        findings = price_sanity(catalogue, load_hardware(project.hardware_file))
        for finding in findings:
            if finding.key in used and finding.severity == "error":
                raise AirflowFailException(f"price {finding.key}: {finding.message}")
            if finding.key in used:
                self.log.warning("price %s: %s", finding.key, finding.message)

    def _refuse_over_budget(self, manifest: RunManifest) -> None:
        """Before anything is written or launched; a job without a budget pays for no look at its history."""
        from seedance_ops.planning.estimate import estimate_study
        from seedance_ops.planning.history import History

        job = manifest.job
        if job.budget.usd is None and job.budget.per_run_usd is None:
            return
        history = History(self.base, job.metadata.name).records()
        estimate = estimate_study(
            job,
            profiles=manifest.profiles,
            prices=manifest.prices,
            history=history,
            reused=manifest.reused,
        )
        if estimate.over_budget:
            raise AirflowFailException(
                f"over budget, nothing was launched: {'; '.join(estimate.over_budget)}"
            )

    def _manifest(
        self,
        run_id: str,
        job: TrainingJob,
        overrides: dict[str, Any],
        run: RunStore,
        catalogue: PriceCatalogue,
    ) -> RunManifest:
        project = ProjectContext(Path(self.project))
        variants = [job.resolve(name) for name in job.variants]
        code = {
            variant.name: version
            for variant in variants
            if (version := _archive(variant.workload, Path(self.project), run)) is not None
        }
        profiles = {variant.name: launcher_profile(variant.launcher, project) for variant in variants}
        digest = "-".join(sorted({version.sha256 for version in code.values()})) or None
        return RunManifest(
            job=job,
            job_hash=job_hash(job, digest),
            source=self.source,
            run_id=run_id,
            runs=plan_runs(job, run_id),
            screening_runs=plan_screening(job, run_id),
            profiles=profiles,
            prices={
                variant: catalogue.price(profile.price, variant=variant)
                for variant, profile in profiles.items()
            },
            device_profiles={
                variant.name: found for variant in variants if (found := device_profiles(variant, project))
            },
            code=code,
            overrides=overrides,
            replaced={path: param_schema(self.job, path)["default"] for path in overrides},
            planned_at_s=time.time(),
        )


def overrides_of(job: TrainingJob, params: Mapping[str, Any]) -> dict[str, Any]:
    """What the trigger form or ``--set`` changed, by path."""
    schemas = param_schemas(job)
    unknown = set(params) - set(schemas)
    if unknown:
        apply_overrides(job, dict.fromkeys(sorted(unknown)))  # raises, naming what may be changed
    return {path: params[path] for path, schema in schemas.items() if params.get(path) != schema["default"]}


def _archive(workload: Any, project: Path, run: RunStore) -> CodeVersion | None:
    from seedance_ops.launchers.code_source import archive_of

    archive = archive_of(workload, project)
    if archive is None:
        return None
    data, sha256 = archive
    version = CodeVersion(key=f"_run/code/{sha256}.tar.gz", sha256=sha256)
    run.objects.put(version.key, data)
    return version


def _planned_before(run: RunStore, manifest: RunManifest) -> RunManifest | None:
    """What an earlier pass decided and paid for; prices, budget and reuse are not decided anew."""
    from seedance_ops.storage.errors import ObjectMissing

    try:
        earlier = run.planned()
    except ObjectMissing:
        return None
    if earlier.job_hash != manifest.job_hash:
        raise AirflowFailException(
            f"run {manifest.run_id} was planned with job hash {earlier.job_hash[:12]}, the job or its code "
            f"now has {manifest.job_hash[:12]}; a run never mixes two versions: trigger a new one"
        )
    return earlier
