"""Whose a namespace is, and whether that process lives."""

from __future__ import annotations

import os
import subprocess

import pytest

from seedance_ops.netlab.names import LabName
from seedance_ops.process_identity import ProcessIdentity


def test_a_namespace_is_told_by_its_name():
    name = LabName(owner_pid=41, owner_start_ticks=977, token="00c0ffee")
    assert LabName.in_namespace("seedance-lab-41-977-00c0ffee-hub") == name
    assert LabName.in_namespace("seedance-lab-41-977-00c0ffee-rank12") == name


@pytest.mark.parametrize(
    "foreign",
    [
        "blue",
        "seedance-lab-hub",
        "seedance-lab-41-977-00c0ffee-hub2",
        "x-seedance-lab-41-977-00c0ffee-hub",
        "",
    ],
)
def test_a_namespace_of_somebody_elses_is_never_taken_for_ours(foreign):
    assert LabName.in_namespace(foreign) is None


def test_two_laboratories_of_one_process_have_two_names():
    first, second = LabName.new(), LabName.new()
    assert first.owner_pid == second.owner_pid == os.getpid()
    assert first != second
    assert first.owner_is_alive


def test_a_dead_owner_is_dead():
    with subprocess.Popen(["sleep", "60"]) as process:
        owner = ProcessIdentity.of(process.pid)
        name = LabName(owner.pid, owner.start_ticks, "00000000")
        assert name.owner_is_alive
        process.kill()
    assert not name.owner_is_alive


def test_a_later_process_of_the_same_pid_is_not_the_owner():
    own = ProcessIdentity.current()
    assert not LabName(own.pid, own.start_ticks - 1, "00000000").owner_is_alive
