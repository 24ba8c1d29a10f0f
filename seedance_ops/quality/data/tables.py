"""A run's raw tables as the data checks see them: the whole, and one variant's part."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd


@dataclass(frozen=True)
class DataTables:
    """Each with the columns ``variant`` and ``seed``.

    ``steps`` and ``evaluations`` have the columns of ``training.metrics.tables``; ``launches`` has one row
    per submission; ``runs`` is the run table, one row per completed run.
    """

    runs: pd.DataFrame
    launches: pd.DataFrame
    steps: pd.DataFrame
    evaluations: pd.DataFrame

    def of(self, variant: str) -> DataTables:
        """One variant's rows, in their order."""
        return DataTables(**{name: _rows(frame, variant) for name, frame in self.named().items()})

    def named(self) -> dict[str, pd.DataFrame]:
        """Every table by the name it has in the object store."""
        return {
            "runs": self.runs,
            "launches": self.launches,
            "steps": self.steps,
            "evaluations": self.evaluations,
        }


def _rows(frame: pd.DataFrame, variant: str) -> pd.DataFrame:
    return frame[frame["variant"] == variant]
