"""Whether shares of time are shares."""

from __future__ import annotations

import numpy as np
import pandas as pd

from seedance_ops.quality.data.fact import DataFact

CHECK = "utilisation_in_range"
_OF_STEPS = ("cpu_utilisation", "gpu_utilisation")
_OF_LAUNCHES = ("mean_cpu_utilisation",)


def utilisation_in_range(variant: str, steps: pd.DataFrame, launches: pd.DataFrame) -> DataFact:
    """CPU and GPU utilisation from 0 to 1 wherever one was measured: in percent, or with a lost core count,
    it would be above.
    """
    checked, violations, example = 0, 0, None
    for frame, columns in ((steps, _OF_STEPS), (launches, _OF_LAUNCHES)):
        for column in columns:
            if column not in frame.columns:
                continue
            values = frame[column].to_numpy(dtype=np.float64, na_value=np.nan)
            measured = ~np.isnan(values)
            outside = np.flatnonzero(measured & ~((values >= 0.0) & (values <= 1.0)))
            checked += int(measured.sum())
            violations += len(outside)
            if len(outside) and example is None:
                seed = frame["seed"].iloc[outside[0]]
                example = f"{column} is {values[outside[0]]:g} in seed {seed}, not within 0 … 1"
    return DataFact(CHECK, variant, checked, violations, example)
