"""Whether steps and their times go forward."""

from __future__ import annotations

import numpy as np
import pandas as pd

from seedance_ops.quality.data.fact import DataFact

CHECK = "monotone_steps"


def monotone_steps(variant: str, steps: pd.DataFrame) -> DataFact:
    """In the order of the records of one submission and rank, the step rises and its start never goes back.

    Across submissions it may: a resumed run repeats the steps since its checkpoint.
    """
    of_rank = steps.groupby(["seed", "submission", "rank"], sort=False)
    back_s = -of_rank["started_at_s"].diff().to_numpy(dtype=np.float64)
    advance = of_rank["step"].diff().to_numpy(dtype=np.float64)
    wrong = np.flatnonzero((advance <= 0) | (back_s > 0))
    example = None
    if len(wrong):
        row = steps.iloc[wrong[0]]
        where = f"seed {row['seed']} submission {row['submission']} rank {row['rank']} step {row['step']}"
        if advance[wrong[0]] <= 0:
            example = f"{where} stands behind step {row['step'] - int(advance[wrong[0]])}"
        else:
            example = f"{where} started {back_s[wrong[0]]:.3g} s before the step ahead of it"
    return DataFact(CHECK, variant, len(steps), len(wrong), example)
