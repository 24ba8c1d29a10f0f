"""The commands that build a laboratory, written out by hand."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from seedance_ops.netlab import plan
from seedance_ops.netlab.names import LabName
from seedance_ops.netlab.shape import LabShape

NAME = LabName(owner_pid=41, owner_start_ticks=977, token="00c0ffee")


def test_two_ranks_on_a_shaped_link():
    # 200 Mbit/s are 25,000,000 B/s: 2 ms of it 50,000 B, 200 ms of it 5,000,000 B.
    expected = """
        ip netns add seedance-lab-41-977-00c0ffee-hub
        ip -n seedance-lab-41-977-00c0ffee-hub link add bridge0 type bridge mcast_snooping 0 stp_state 0
        ip -n seedance-lab-41-977-00c0ffee-hub link set dev bridge0 addrgenmode none up
        ip netns add seedance-lab-41-977-00c0ffee-rank0
        ip -n seedance-lab-41-977-00c0ffee-hub link add rank0 type veth peer name eth0 netns seedance-lab-41-977-00c0ffee-rank0
        ip -n seedance-lab-41-977-00c0ffee-hub link set dev rank0 master bridge0 addrgenmode none up
        ip -n seedance-lab-41-977-00c0ffee-rank0 link set dev lo up
        ip -n seedance-lab-41-977-00c0ffee-rank0 link set dev eth0 addrgenmode none up
        ip -n seedance-lab-41-977-00c0ffee-rank0 address add 10.77.0.1/16 dev eth0
        tc -n seedance-lab-41-977-00c0ffee-rank0 qdisc add dev eth0 root tbf rate 200000000bit burst 50000 limit 5050000
        ip netns add seedance-lab-41-977-00c0ffee-rank1
        ip -n seedance-lab-41-977-00c0ffee-hub link add rank1 type veth peer name eth0 netns seedance-lab-41-977-00c0ffee-rank1
        ip -n seedance-lab-41-977-00c0ffee-hub link set dev rank1 master bridge0 addrgenmode none up
        ip -n seedance-lab-41-977-00c0ffee-rank1 link set dev lo up
        ip -n seedance-lab-41-977-00c0ffee-rank1 link set dev eth0 addrgenmode none up
        ip -n seedance-lab-41-977-00c0ffee-rank1 address add 10.77.0.2/16 dev eth0
        tc -n seedance-lab-41-977-00c0ffee-rank1 qdisc add dev eth0 root tbf rate 200000000bit burst 50000 limit 5050000
    """  # noqa: E501
    commands = plan.set_up(NAME, LabShape(ranks=2, mbit=200))
    assert [" ".join(command) for command in commands] == [
        line.strip() for line in expected.strip().splitlines()
    ]


def test_an_unshaped_link_has_no_queueing_discipline():
    assert not [command for command in plan.set_up(NAME, LabShape(ranks=3)) if command[0] == "tc"]


@pytest.mark.parametrize(
    ("mbit", "burst_kb", "burst_bytes", "queue_bytes"),
    [
        (50, None, 32_768, 1_250_000 + 32_768),  # 2 ms are 12,500 B: the least bucket holds
        (1000, None, 250_000, 25_000_000 + 250_000),
        (0.1, None, 32_768, 262_144 + 32_768),  # 200 ms are 2,500 B: the least queue holds
        (200, 64, 65_536, 5_000_000 + 65_536),
    ],
)
def test_the_bucket_follows_the_rate_unless_it_is_chosen(mbit, burst_kb, burst_bytes, queue_bytes):
    shape = LabShape(mbit=mbit, burst_kb=burst_kb)
    assert (shape.burst_bytes, shape.queue_bytes) == (burst_bytes, queue_bytes)


def test_every_rank_that_a_bridge_can_hold_has_an_address_of_its_own():
    addresses = {plan.address_of(rank) for rank in range(1023)}
    assert len(addresses) == 1023
    assert plan.address_of(0) == "10.77.0.1"
    assert plan.address_of(255) == "10.77.1.0"  # an ordinary address within a /16


def test_a_rank_runs_in_its_namespace_and_dies_with_its_starter():
    wrapped = "setpriv --pdeathsig KILL -- ip netns exec seedance-lab-41-977-00c0ffee-rank1"
    assert " ".join(plan.enter(NAME, 1, ["python", "train.py"])) == f"{wrapped} python train.py"


@pytest.mark.parametrize(
    "wrong",
    [
        {"mbit": 0},
        {"mbit": -1},
        {"mbit": float("nan")},
        {"mbit": float("inf")},
        {"mbit": 1e6},
        {"ranks": 0},
        {"ranks": 1024},
        {"ranks": 2000},
        {"burst_kb": 1},
        {"burst_kb": 10**9},
    ],
)
def test_a_laboratory_that_no_kernel_could_build_is_refused(wrong):
    with pytest.raises(ValidationError):
        LabShape(**wrong)
