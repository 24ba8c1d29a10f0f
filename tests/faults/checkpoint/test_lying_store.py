"""A store that fails, lies and forgets: what is restored is right, or what cannot be done is said."""

from __future__ import annotations

import json
import os
from pathlib import Path

from seedance_ops.storage.client import ObjectStore
from seedance_ops.storage.config import StorageLocation
from seedance_ops.training.checkpoint.catalogue import CheckpointCatalogue
from tests.faults.checkpoint.campaign import Campaign, ended
from tests.faults.checkpoint.lying_store import FAULTS, REFUSAL, STALE, lying_store

STARTS = int(os.environ.get("SEEDANCE_STARTS", "7"))
"""``make faults`` asks for more."""
MANY = 30
"""Starts in which every fault is met."""
STEPS_A_START = 4


def test_whatever_the_store_answers_no_wrong_byte_is_restored(
    location: StorageLocation, tmp_path: Path
) -> None:
    """Every start resumes from the store alone, through a proxy that fails one request of five."""
    assert location.endpoint_url is not None
    with lying_store(location.endpoint_url, seed=11, share=0.2) as server:
        lied = location.model_copy(update={"endpoint_url": server.endpoint_url})
        campaign = Campaign(lied, tmp_path, seed=11)
        for number in range(1, STARTS + 1):
            plan = campaign.plan(
                "run",
                submission=number,
                steps=STEPS_A_START * number,
                local_folder=str(tmp_path / f"{number}"),
            )
            process = campaign.start(plan)
            with ended(process):
                process.join(120)
                # Ended well, or with an error that names what the store did.
                assert process.exitcode in (0, 1, 78), campaign.log(plan)
        words = campaign.said(plan)
        print(json.dumps(server.met), words)
    assert [line for line in words if "WRONG" in line] == []
    assert len([line for line in words if line[0] == "done"]) >= STARTS // 2, campaign.log(plan)
    assert len(server.met) > len(FAULTS) // 2
    if STARTS >= MANY:
        assert set(server.met) == {*FAULTS, REFUSAL, STALE}
    honest = ObjectStore(location.child("run"))
    # All that counts is whole, as the honest store has it.
    committed = CheckpointCatalogue(honest, plan.job_hash, STARTS).committed()
    for manifest in committed:
        for file in manifest.files:
            file.check(memoryview(honest.get(f"{manifest.folder}/{file.name}")))
    assert committed
    restored = [int(line[1]) for line in words if line[0] == "restored"]
    assert restored == sorted(restored), "nothing that was committed was lost from sight"
    assert max(int(line[1]) for line in words if line[0] == "committed") <= committed[-1].step
