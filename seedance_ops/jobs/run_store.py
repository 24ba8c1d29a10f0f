"""What one run left in the object store, under names that every stage agrees on."""

from __future__ import annotations

import io
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

from pydantic import TypeAdapter

from seedance_ops.jobs.manifest import RESERVED, RunManifest, run_key, training_prefix
from seedance_ops.jobs.screening import Screening
from seedance_ops.storage.config import StorageLocation
from seedance_ops.strict_model import StrictModel

if TYPE_CHECKING:
    import pandas as pd

    from seedance_ops.storage.client import ObjectStore

Model = TypeVar("Model", bound=StrictModel)

_PATIENCE_S = 60.0
_JSON_OBJECT = TypeAdapter(dict[str, str])


class RunStore:
    """The objects below ``<base>/<job>/<run>``: the manifest, the stamp, tables and documents.

    A store that is away for a minute is waited for.
    """

    def __init__(self, base: StorageLocation, job: str, run_id: str) -> None:
        self._base, self._job = base, job
        self.location = base.child(job, run_key(run_id))

    @cached_property
    def objects(self) -> ObjectStore:
        """The run's objects as they are."""
        from seedance_ops.storage.client import ObjectStore

        return ObjectStore(self.location, patience_s=_PATIENCE_S)

    def of(self, run_id: str) -> RunStore:
        """Another run of the same job."""
        return RunStore(self._base, self._job, run_id)

    def training(self, variant: str, seed: int, take: int) -> StorageLocation:
        """Where one training's tables and checkpoints stand."""
        return self.location.child(training_prefix(variant, seed, take))

    def decisions(self, variant: str) -> StorageLocation:
        """Where a variant's trainings keep what they decide once for all seeds."""
        return self.location.child(RESERVED, "decisions", variant)

    def training_objects(self, variant: str, seed: int, take: int) -> ObjectStore:
        """What one training left there."""
        return self.objects.child(training_prefix(variant, seed, take))

    def write(self, name: str, document: StrictModel) -> None:
        """Store a document as JSON."""
        self.objects.put(f"{RESERVED}/{name}", document.model_dump_json(by_alias=True, indent=2).encode())

    def read(self, name: str, model: type[Model]) -> Model:
        """Read a document; raises ``ObjectMissing`` where its stage has not run."""
        return model.model_validate_json(self.objects.get(f"{RESERVED}/{name}"))

    def forget(self, *names: str) -> None:
        """Delete documents, texts or tables; one that is not there is no error."""
        self.objects.delete(*(f"{RESERVED}/{name}" for name in names))

    def planned(self) -> RunManifest:
        """What ``plan`` wrote: every variant, both phases."""
        return self.read("manifest.json", RunManifest)

    def manifest(self) -> RunManifest:
        """What is judged: what ``plan`` wrote, without the variants that a screening has stopped."""
        planned = self.planned()
        screening = self.screening() if planned.job.phases else None
        return planned.confirming(screening.confirmed) if screening else planned

    def screening(self) -> Screening | None:
        """What the screening found; none where the job has no phases, or before it has ended."""
        from seedance_ops.storage.errors import ObjectMissing

        try:
            return self.read("screening.json", Screening)
        except ObjectMissing:
            return None

    def write_stamp(self, stamp: dict[str, str]) -> None:
        """Store the provenance that every table and the report carry."""
        self.objects.put(f"{RESERVED}/stamp.json", _JSON_OBJECT.dump_json(stamp, indent=2))

    def stamp(self) -> dict[str, str]:
        """The provenance of this run."""
        return _JSON_OBJECT.validate_json(self.objects.get(f"{RESERVED}/stamp.json"))

    def write_frame(self, name: str, frame: pd.DataFrame) -> None:
        """Store a table as Parquet, with the run's stamp in its metadata."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        table = pa.Table.from_pandas(frame, preserve_index=False)
        stamp = _JSON_OBJECT.dump_json(self.stamp())
        table = table.replace_schema_metadata({**(table.schema.metadata or {}), b"stamp": stamp})
        buffer = io.BytesIO()
        pq.write_table(table, buffer)
        self.objects.put(f"{RESERVED}/tables/{name}.parquet", buffer.getvalue())

    def frame(self, name: str) -> pd.DataFrame:
        """Read a table; raises ``ObjectMissing`` where its stage has not run."""
        import pandas as pd

        return pd.read_parquet(io.BytesIO(self.objects.get(f"{RESERVED}/tables/{name}.parquet")))

    def write_text(self, name: str, text: str) -> None:
        """Store a text."""
        self.objects.put(f"{RESERVED}/{name}", text.encode())

    def text(self, name: str) -> str:
        """Read a text."""
        return self.objects.get(f"{RESERVED}/{name}").decode()
