"""What may be deleted below a run's checkpoints, and what never."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seedance_ops.storage.client import ObjectStore
from seedance_ops.storage.errors import ObjectExists
from seedance_ops.storage.listing import ObjectEntry, UnfinishedUpload
from seedance_ops.training.checkpoint.catalogue import CheckpointCatalogue
from seedance_ops.training.checkpoint.collecting import collect
from seedance_ops.training.checkpoint.config import KeepPolicy
from seedance_ops.training.checkpoint.garbage import Rules, Waste, garbage
from seedance_ops.training.checkpoint.manifest import CheckpointFile, CheckpointManifest, Writer
from seedance_ops.training.checkpoint.survey import StoredCheckpoint, Survey, own_key, survey

NOW_S, HOUR_S = 1_000_000.0, 3600.0
FIRST, NEWEST_ONLY = Writer(1, 1), KeepPolicy(last=1)
SHARD = "common-0000.safetensors"


def manifest(step: int, writer: Writer = FIRST, job_hash: str = "h") -> CheckpointManifest:
    return CheckpointManifest(
        job_hash=job_hash,
        step=step,
        samples_seen=step,
        world_size=1,
        submission=writer.submission,
        epoch=writer.epoch,
        final=False,
        train_elapsed_s=0.0,
        written_at_s=0.0,
        files=(CheckpointFile.describe(SHARD, memoryview(b"x")),),
    )


def checkpoint(
    step: int, writer: Writer, state: str, job_hash: str = "h", modified_s: float = NOW_S
) -> StoredCheckpoint:
    described = manifest(step, writer, job_hash)
    folder = described.folder
    return StoredCheckpoint(
        step,
        writer,
        state,  # type: ignore[arg-type]
        (ObjectEntry(f"{folder}/{SHARD}", 1, modified_s),),
        described if state == "committed" else None,
        None if state == "unfinished" else ObjectEntry(f"{folder}/manifest.json", 9, modified_s),
    )


def rules(whole: str | None = None, keep: KeepPolicy | None = NEWEST_ONLY) -> Rules:
    return Rules(job_hash="h", keep=keep, whole=whole, now_s=NOW_S, older_than_s=24 * HOUR_S)


WRITERS = st.builds(Writer, st.integers(1, 3), st.integers(1, 2))
CHECKPOINTS = st.lists(
    st.builds(
        checkpoint,
        st.integers(1, 9),
        WRITERS,
        st.sampled_from(["committed", "committed", "unfinished", "given up", "unreadable"]),
        st.sampled_from(["h", "h", "other"]),
        st.sampled_from([NOW_S, NOW_S - 48 * HOUR_S]),
    ),
    unique_by=lambda each: each.age,
    max_size=12,
)
KEYS = st.sampled_from(
    [
        f"checkpoints/step-00000001/submission-001-epoch-001/{SHARD}",
        f"checkpoints/step-00000001/submission-003-epoch-002/{SHARD}",
        "checkpoints/step-00000001/submission-001/model.safetensors",
        "checkpoints/step-1/submission-001-epoch-001/rank-0000.safetensors",
        "checkpoints/../../other/manifest.json",
        "checkpoints/notes.txt",
        "records/table.parquet",
    ]
)
UPLOADS = st.lists(st.builds(UnfinishedUpload, KEYS, st.just("id"), st.just(NOW_S - 48 * HOUR_S)), max_size=4)


@st.composite
def surveys(draw: st.DrawFn) -> tuple[Survey, str | None, int]:
    checkpoints = tuple(sorted(draw(CHECKPOINTS), key=lambda each: each.age))
    found = Survey(
        checkpoints,
        draw(st.none() | WRITERS),
        tuple(draw(st.lists(KEYS, max_size=3))),
        tuple(draw(UPLOADS)),
    )
    committed = [each.folder for each in found.committed("h")]
    return found, draw(st.none() | st.sampled_from(committed or [None])), draw(st.integers(1, 3))


@settings(max_examples=400)
@given(surveys())
def test_what_may_still_count_is_never_deleted(drawn: tuple[Survey, str | None, int]) -> None:
    found, whole, last = drawn
    gone = garbage(found, rules(whole, KeepPolicy(last=last)))
    keys = [key for waste in gone for key in waste.keys]
    committed = [each for each in found.checkpoints if each.state == "committed"]
    of_job = [each for each in committed if each.manifest and each.manifest.job_hash == "h"]

    def goes(each: StoredCheckpoint) -> bool:
        return any(key.startswith(f"{each.folder}/") for key in keys)

    assert not any(goes(each) for each in of_job[-1:]), "the newest: the next submission resumes from it"
    assert not any(goes(each) for each in of_job if each.folder == whole), "the last verified one"
    assert not any(goes(each) for each in committed if each not in of_job), "another job's"
    for each in found.checkpoints:
        if each.state == "unreadable":
            assert not goes(each)
        if each.state in ("unfinished", "given up") and each.writer >= (found.newest_writer or Writer(0, 0)):
            assert not goes(each), "its writer may be alive"
    if whole is None:
        assert not any(goes(each) for each in committed), "none is known to be whole"


@settings(max_examples=400)
@given(surveys())
def test_keys_of_no_known_kind_are_never_deleted(drawn: tuple[Survey, str | None, int]) -> None:
    found, whole, _ = drawn
    for waste in garbage(found, rules(whole)):
        for key in (*waste.keys, *((waste.upload.key,) if waste.upload else ())):
            own = own_key(key)
            assert own is not None
            if waste.upload:
                assert found.newest_writer
                assert own.writer < found.newest_writer


@pytest.mark.parametrize(
    "key",
    [
        "checkpoints/step-00000001/submission-001-epoch-001/notes.txt",
        "checkpoints/step-00000001/submission-001-epoch-001/sub/manifest.json",
        "checkpoints/step-00000001/submission-001-epoch-001/manifest.json\n",
        "checkpoints/step-0000000001/submission-001-epoch-001/manifest.json",
        "checkpoints/step-00000001/submission-0001-epoch-001/manifest.json",
        "other/checkpoints/step-00000001/submission-001-epoch-001/manifest.json",
        "checkpoints/step-00000001/submission-001-epoch-001/rank-٠٠٠٠.safetensors",
        "checkpoints/step-٠0000001/submission-001-epoch-001/manifest.json",
    ],
)
def test_a_key_that_only_looks_like_a_checkpoints_is_not_its(key: str) -> None:
    assert own_key(key) is None


def kinds(gone: list[Waste]) -> list[tuple[str, str]]:
    return [(waste.kind, waste.where.split("/")[1]) for waste in gone]


def test_shards_of_a_superseded_writer_go_and_those_of_the_newest_stay() -> None:
    old, new = Writer(1, 1), Writer(1, 2)
    found = Survey((checkpoint(5, old, "unfinished"), checkpoint(6, new, "unfinished")), new, ())
    assert kinds(garbage(found, rules())) == [("orphan", "step-00000005")]


def test_a_tombstone_stays_until_its_writer_is_surely_dead() -> None:
    def keys(modified_s: float) -> list[str]:
        given_up = checkpoint(5, Writer(1, 1), "given up", modified_s=modified_s)
        [waste] = garbage(Survey((given_up,), Writer(2, 1), ()), rules())
        return [key.rpartition("/")[2] for key in waste.keys]

    assert keys(NOW_S - 23 * HOUR_S) == [SHARD]
    assert keys(NOW_S - 25 * HOUR_S) == [SHARD, "manifest.json"]


def test_what_is_older_than_the_last_whole_one_goes_by_the_policy() -> None:
    writer = Writer(1, 1)
    stored = tuple(checkpoint(step, writer, "committed") for step in (1, 2, 3, 4))
    found = Survey(stored, writer, ())
    assert kinds(garbage(found, rules(stored[3].folder))) == [
        ("superfluous", f"step-0000000{n}") for n in (1, 2, 3)
    ]
    damaged_newest = garbage(found, rules(stored[1].folder))
    assert kinds(damaged_newest) == [("superfluous", "step-00000001")]
    assert garbage(found, rules(stored[3].folder, keep=None)) == []


def test_an_upload_goes_when_it_is_old_and_its_writer_superseded() -> None:
    def gone(begun_s: float, newest: Writer | None) -> int:
        upload = UnfinishedUpload(f"{manifest(1).folder}/{SHARD}", "id", begun_s)
        return len(garbage(Survey((), newest, (), (upload,)), rules()))

    assert gone(NOW_S - 25 * HOUR_S, Writer(2, 1)) == 1
    assert gone(NOW_S - 23 * HOUR_S, Writer(2, 1)) == 0
    assert gone(NOW_S - 25 * HOUR_S, Writer(1, 1)) == 0, "it may be alive"
    assert gone(NOW_S - 25 * HOUR_S, None) == 0


def test_a_slow_writer_cannot_commit_what_was_collected(store: ObjectStore) -> None:
    first, second = CheckpointCatalogue(store, "h", 1), CheckpointCatalogue(store, "h", 2)
    first.claim()
    second.claim()
    late = manifest(5)
    store.put(f"{late.folder}/{SHARD}", b"x")  # after the second has looked
    [waste] = garbage(survey(store), rules())
    assert collect(store, waste)
    assert f"{late.folder}/{SHARD}" not in store.list()
    with pytest.raises(ObjectExists):  # it has looked at the fences before
        store.put(f"{late.folder}/manifest.json", late.model_dump_json().encode(), if_absent=True)


def test_what_was_committed_meanwhile_is_not_collected(store: ObjectStore) -> None:
    first, second = CheckpointCatalogue(store, "h", 1), CheckpointCatalogue(store, "h", 2)
    first.claim()
    second.claim()
    late = manifest(5)
    store.put(f"{late.folder}/{SHARD}", b"x")
    [waste] = garbage(survey(store), rules())
    store.put(f"{late.folder}/manifest.json", late.model_dump_json().encode())
    assert not collect(store, waste)
    assert f"{late.folder}/{SHARD}" in store.list()


def test_a_manifest_that_lies_about_its_place_keeps_everything(store: ObjectStore) -> None:
    CheckpointCatalogue(store, "h", 2).claim()
    store.put(f"{manifest(5).folder}/{SHARD}", b"x")
    store.put(f"{manifest(5).folder}/manifest.json", manifest(6).model_dump_json().encode())
    found = survey(store)
    assert [each.state for each in found.checkpoints] == ["unreadable"]
    assert garbage(found, rules()) == []
