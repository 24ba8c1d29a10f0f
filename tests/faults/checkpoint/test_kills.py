"""kill -9 at any moment: nothing committed is lost, nothing wrong restored, nothing left lying about."""

from __future__ import annotations

import json
import os
from pathlib import Path

from seedance_ops.storage.config import StorageLocation
from seedance_ops.training.checkpoint.node_folders import remove_node_folders
from tests.faults.checkpoint.campaign import Campaign, ended

KILLS = int(os.environ.get("SEEDANCE_KILLS", "20"))
"""``make faults`` asks for a thousand."""
SEED = int(os.environ.get("SEEDANCE_SEED", "5"))


def test_nothing_committed_is_lost_whenever_a_process_is_killed(
    location: StorageLocation, tmp_path: Path
) -> None:
    tally = Campaign(location, tmp_path, SEED).kill(KILLS)
    print(json.dumps(tally.summary()))
    if file := os.environ.get("SEEDANCE_FAULTS_JSON"):
        Path(file).write_text(json.dumps(tally.summary()), encoding="utf-8")
    assert not tally.problems, "\n".join(tally.problems)
    assert tally.resumed >= KILLS // 3, "most starts should find a checkpoint: what else would be tested?"
    assert (tally.kills, tally.lost, tally.wrong_bytes, tally.orphans) == (KILLS, 0, 0, 0)


def test_of_two_writers_of_one_run_the_later_start_wins(location: StorageLocation, tmp_path: Path) -> None:
    """A launcher that believes its job has not started, and starts it again."""
    campaign = Campaign(location, tmp_path, SEED)
    plan = campaign.plan("run", steps=40)
    first = campaign.start(plan)
    second = campaign.start(plan)
    with ended(first, second):
        first.join(90)
        second.join(90)
        assert sorted([first.exitcode, second.exitcode]) == [0, 78], campaign.log(plan)
    words = campaign.said(plan)
    assert [line[2] for line in words if line[0] == "refused"] == ["Superseded"]
    assert [line[1] for line in words if line[0] == "done"] == ["40"]
    assert not [line for line in words if "WRONG" in line]
    remove_node_folders(plan, campaign.workspace(plan))  # as the end of a run does: the loser wrote on
    assert campaign.orphans(plan) == []
