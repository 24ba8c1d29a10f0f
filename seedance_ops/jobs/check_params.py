"""Whether each entry of ``params`` names something that a person may change for one run."""

from __future__ import annotations

from collections.abc import Iterator

from seedance_ops.jobs.findings import Finding, listed, nearest
from seedance_ops.jobs.param_forms import UnfitParamError, param_schema
from seedance_ops.jobs.training_job import TrainingJob
from seedance_ops.jobs.variants import flatten


def param_findings(job: TrainingJob) -> Iterator[Finding]:
    """The faults of ``params``."""
    for index, path in enumerate(job.params):
        if path in job.params[:index]:
            yield Finding(("params", index), "listed twice")
            continue
        try:
            param_schema(job, path)
        except UnfitParamError as unfit:
            known = list(flatten(job.model_dump(mode="json", by_alias=True))) if unfit.unknown else []
            yield Finding(
                ("params", index),
                str(unfit),
                allowed="dotted paths to single values, for example workload.stop.samples"
                if unfit.unknown
                else f"anything but {listed(unfit.fixed)}",
                suggestion=nearest(path, known),
                reads=(tuple(path.split(".")),),
            )
