"""Counters as ``ip`` and the kernel print them."""

from __future__ import annotations

import json

import pytest

from seedance_ops.netlab.counters import Sent, sent_by_rank, sent_by_this_rank
from seedance_ops.netlab.errors import LabError


def link(name, received, sent):
    counts = {"rx": {"bytes": received, "packets": 2}, "tx": {"bytes": sent, "packets": 9}}
    return {"ifname": name, "stats64": counts}


def test_what_the_hub_receives_the_rank_has_sent():
    links = json.dumps([link("rank1", 700, 5), link("rank0", 300, 8)])
    assert sent_by_rank(links, 2) == (Sent(300, 2), Sent(700, 2))


def test_a_missing_port_is_an_error_and_not_a_zero():
    with pytest.raises(LabError, match="rank1"):
        sent_by_rank(json.dumps([link("rank0", 1, 1)]), 2)


def test_a_rank_reads_its_own_interface(tmp_path):
    file = tmp_path / "dev"  # the format of proc(5)
    file.write_text(
        "Inter-|   Receive                                                |  Transmit\n"
        " face |bytes packets errs drop fifo frame compressed multicast|bytes packets errs drop fifo colls\n"
        "    lo:   11       1    0    0    0     0          0         0     22       2    0    0    0     0\n"
        "  eth0: 3333       3    0    0    0     0          0         0 444444     444    0    0    0     0\n"
    )
    environment = {"GLOO_SOCKET_IFNAME": "eth0"}
    assert sent_by_this_rank(environment, interfaces=file) == Sent(444_444, 444)
    with pytest.raises(LabError, match="not a rank"):
        sent_by_this_rank({}, interfaces=file)


def test_the_payload_is_the_same_however_the_kernel_cuts_it():
    # 1,448,000 B of payload: 1,000 packets of 1,500 B on Ethernet (14 B more each), or 25 of 57,920 B.
    assert Sent(1_514_000, 1000).tcp_payload_bytes == 1_448_000
    assert Sent(1_448_000 + 25 * 66, 25).tcp_payload_bytes == 1_448_000
