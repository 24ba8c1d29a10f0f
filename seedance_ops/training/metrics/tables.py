"""The tables a run leaves in the object store: their Arrow schemas, keys and the readers' contract.

Below one training's location (``…/<job>/<run>/<variant>/seed-<n>/take-<m>``):

``steps/submission-001/rank-0000/part-00000.parquet``       one row per rank and optimiser step
``evaluations/submission-001/part-00000.parquet``           one row per evaluation and metric (rank 0)
``checkpoint_writes/submission-001/part-00000.parquet``     one row per committed checkpoint
``checkpoint_intervals/submission-001/part-00000.parquet``  one row per decision on when to take one
``usage/submission-001/rank-0000/part-00000.parquet``       what a rank used beside its accelerator's time
``launches/submission-001.json``                            a ``LaunchRecord``, written by the operator

A part is never overwritten: a process that torchrun restarts within a submission continues the numbers.
Rows are flushed before the checkpoint that contains their step is committed, so no step can be in a
checkpoint and in no table. The schema metadata ``seedance.stamp`` holds the run's provenance as JSON.

A step that a later submission repeated after a resume stands in both submissions' parts: readers that
describe *training* keep the highest submission of each (rank, step); cost counts them all, because they
were paid for.
"""

from __future__ import annotations

import pyarrow as pa

_IDENTITY = [
    ("job", pa.string()),
    ("run_id", pa.string()),
    ("variant", pa.string()),
    ("seed", pa.int64()),
    ("submission", pa.int64()),
]

STEPS = pa.schema(
    [
        *_IDENTITY,
        ("rank", pa.int64()),
        ("world_size", pa.int64()),
        ("step", pa.int64()),  # 1-based: the optimiser step that this row describes
        ("started_at_s", pa.float64()),  # Unix time
        ("step_time_s", pa.float64()),
        ("compute_s", pa.float64()),  # step time without exposed communication and checkpoint stall
        ("communication_wait_s", pa.float64()),  # exposed: last gradient ready → last reduction done
        ("all_reduce_s", pa.float64()),  # sum over the step's reductions, issue → completion
        ("checkpoint_stall_s", pa.float64()),  # for the checkpoint just before this step; part of step_time_s
        ("bytes_on_wire", pa.int64()),  # sent by this rank, payload, by the collective's exact formula
        ("bytes_dense_fp32", pa.int64()),  # what a dense fp32 ring would have sent
        ("samples", pa.int64()),  # this rank's
        ("tokens", pa.int64()),  # this rank's; null where the workload does not say
        ("model_flops", pa.float64()),  # forward + backward of this rank's batch; null where unknown
        ("flops_method", pa.string()),  # "counted" (FlopCounterMode), "declared", or null
        ("cpu_utilisation", pa.float64()),  # of this process, share of its cores, 0..1
        ("gpu_utilisation", pa.float64()),  # 0..1; null without a GPU
        ("memory_bytes", pa.int64()),  # resident set, or the device's peak allocation
        ("train_loss", pa.float64()),
    ]
)

EVALUATIONS = pa.schema(
    [
        *_IDENTITY,
        ("step", pa.int64()),
        ("samples_seen", pa.int64()),  # over all ranks
        ("at_s", pa.float64()),  # Unix time
        ("train_elapsed_s", pa.float64()),  # training time so far, over all submissions that count
        ("metric", pa.string()),
        ("value", pa.float64()),
    ]
)

CHECKPOINT_WRITES = pa.schema(
    [
        *_IDENTITY,
        ("step", pa.int64()),
        ("tier", pa.string()),  # "local" or "object"
        ("bytes", pa.int64()),
        ("write_s", pa.float64()),
        ("stall_s", pa.float64()),  # how long training stood still for it
    ]
)

CHECKPOINT_INTERVALS = pa.schema(
    [
        *_IDENTITY,
        ("step", pa.int64()),  # after which the policy was asked
        ("at_s", pa.float64()),  # Unix time
        ("policy", pa.string()),  # "report" or "adaptive"; "fixed" decides nothing
        (
            "outcome",
            pa.string(),
        ),  # "begun", "postponed"; "skipped": the last was still being written
        ("interval_steps", pa.int64()),  # in force from here on
        ("next_step", pa.int64()),  # when the policy is asked again
        ("inputs", pa.string()),  # JSON: state and observation, from which the same decision follows again
        ("reason", pa.string()),
    ]
)

USAGE = pa.schema(
    [
        *_IDENTITY,
        ("rank", pa.int64()),
        ("at_s", pa.float64()),  # Unix time
        ("stage", pa.string()),  # "checkpoint": while one was saved; "run": at any other time
        ("component", pa.string()),  # "requests", "egress", "energy"
        ("tier", pa.string()),  # class of request: "put", "get", "list", "delete"; else "-"
        ("quantity", pa.float64()),  # requests, GB (10^9 bytes) or kWh since the last such row; null: unknown
        ("method", pa.string()),  # "counted" at the client, "nvml", "rapl", or "none"
    ]
)
