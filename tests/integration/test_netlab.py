"""Real namespaces, real links: they carry what was sent, at the rate asked for, and leave nothing."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path

import psutil
import pytest

from seedance_ops.netlab.errors import LabNotPossible
from seedance_ops.netlab.lab import NetworkLab
from seedance_ops.netlab.names import LabName
from seedance_ops.netlab.possible import require_lab

STREAM = Path(__file__).parent / "netlab_programs/stream.py"
SEEDANCE = Path(sys.executable).with_name("seedance")
MIB = 1 << 20
INTERFACES = "/sys/class/net"


@pytest.fixture(scope="module", autouse=True)
def only_with_rights():
    try:
        require_lab()
    except LabNotPossible as missing:
        warnings.warn(f"the network laboratory is NOT tested: {missing}", stacklevel=1)
        pytest.skip(str(missing))


def namespaces_of(pid: int) -> list[str]:
    names = sorted(Path("/run/netns").glob("*")) if Path("/run/netns").exists() else []
    return [path.name for path in names if (lab := LabName.in_namespace(path.name)) and lab.owner_pid == pid]


def is_running(pid: int) -> bool:
    """Not so for a zombie, which in a container may never be reaped."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def wait_until(condition):
    deadline_s = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < deadline_s
        time.sleep(0.02)


def stream(lab: NetworkLab, payload_bytes: int):
    run = lab.torchrun([str(STREAM), str(payload_bytes)], timeout_s=60)
    assert run.exit_code == 0, run.ranks
    return run, json.loads(run.ranks[0].stdout)


def test_a_link_of_50_mbit_carries_50_mbit_and_counts_what_was_sent():
    with NetworkLab(ranks=2, mbit=50) as lab:
        run, told = stream(lab, 4 * MIB)
    assert 0.85 * 50 <= told["mbit_per_s"] <= 50
    assert run.sent[0].tcp_payload_bytes == pytest.approx(4 * MIB, rel=0.005)
    # 66 B of headers on 1,448 B at most, where the kernel cuts every packet to an Ethernet's 1,500 B.
    assert 4 * MIB < run.sent[0].bytes < 4 * MIB * 1514 / 1448 * 1.01
    assert told["own_payload_bytes"] == pytest.approx(4 * MIB, rel=0.005)
    assert run.sent[1].bytes < 0.1 * run.sent[0].bytes, "the other rank only acknowledged"


def test_an_unshaped_link_is_far_faster():
    with NetworkLab(ranks=2) as lab:
        _, told = stream(lab, 32 * MIB)
    assert told["mbit_per_s"] > 200


def test_counters_go_on_over_several_runs():
    with NetworkLab(ranks=2) as lab:
        first, _ = stream(lab, MIB)
        second, _ = stream(lab, 2 * MIB)
        total = lab.bytes_sent()
    assert second.sent[0].tcp_payload_bytes == pytest.approx(2 * MIB, rel=0.01)
    assert total[0] == pytest.approx(first.sent[0].bytes + second.sent[0].bytes, abs=500)


def test_ranks_get_what_torchrun_gives_and_their_own_network():
    with NetworkLab(ranks=3) as lab:
        run = lab.run(
            lambda rank: [
                "sh",
                "-c",
                f"echo {rank} $RANK $LOCAL_RANK $WORLD_SIZE $MASTER_ADDR $MINE; ls {INTERFACES}",
            ],
            lambda rank: {"MINE": f"m{rank}"},
        )
    for rank, outcome in enumerate(run.ranks):
        assert outcome.stdout.split() == [
            str(rank),
            str(rank),
            "0",
            "3",
            "10.77.0.1",
            f"m{rank}",
            "eth0",
            "lo",
        ]


def test_two_laboratories_at_once_do_not_meet():
    with NetworkLab(ranks=2, mbit=50) as slow, NetworkLab(ranks=2) as fast:
        before = slow.bytes_sent()
        stream(fast, 8 * MIB)
        assert sum(slow.bytes_sent()) - sum(before) < 1000
    assert namespaces_of(os.getpid()) == []


def test_nothing_is_left_in_the_machines_own_network():
    def links():
        return {link["ifname"] for link in json.loads(subprocess.check_output(["ip", "-j", "link"]))}

    before = links()
    with NetworkLab(ranks=2, mbit=50):
        assert links() == before
    assert namespaces_of(os.getpid()) == []


def test_what_a_rank_left_running_ends_with_the_run():
    with NetworkLab(ranks=1) as lab:
        run = lab.run(lambda _: ["sh", "-c", "setsid sleep 300 >/dev/null 2>&1 & echo $!"])
    assert not is_running(int(run.ranks[0].stdout))


def laboratory_that_waits() -> subprocess.Popen[str]:
    command = [SEEDANCE, "netlab", "--mbit", "50", "--", "sh", "-c", "echo pid $$; exec sleep 300"]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def pids_told(process: subprocess.Popen[str]) -> list[int]:
    return [int(process.stdout.readline().split()[-1]) for _ in range(2)]


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_ranks_and_removes_everything(sign):
    with laboratory_that_waits() as process:
        pids = pids_told(process)
        assert len(namespaces_of(process.pid)) == 3
        process.send_signal(sign)
        assert process.wait(10) == 130
    assert namespaces_of(process.pid) == []
    assert not [pid for pid in pids if is_running(pid)]


def test_after_kill_9_the_ranks_die_and_the_next_start_sweeps():
    with laboratory_that_waits() as process:
        pids = pids_told(process)
        process.kill()
    wait_until(lambda: not [pid for pid in pids if is_running(pid)])
    assert len(namespaces_of(process.pid)) == 3, "nobody is left to remove them"
    with NetworkLab(ranks=1):
        assert namespaces_of(process.pid) == []


def test_a_program_that_is_asked_to_end_removes_its_laboratory():
    program = (
        "import time\nfrom seedance_ops.netlab.lab import NetworkLab\n"
        "with NetworkLab(ranks=1):\n    print('built', flush=True)\n    time.sleep(60)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        process.stdout.readline()
        assert len(namespaces_of(process.pid)) == 2
        process.terminate()
        process.communicate(timeout=10)
    assert namespaces_of(process.pid) == []


def test_a_laboratory_works_in_a_thread():
    outputs = []

    def work():
        with NetworkLab(ranks=1) as lab:
            outputs.append(lab.run(lambda _: ["echo", "hi"]).ranks[0].stdout)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join(20)
    assert outputs == ["hi\n"]


def test_the_command_prefixes_output_counts_bytes_and_passes_the_exit_code_on():
    done = subprocess.run(
        [SEEDANCE, "netlab", "--mbit", "100", "--", sys.executable, STREAM, str(MIB)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert '[0] {"mbit_per_s"' in done.stdout
    assert "links of 100 Mbit/s" in done.stdout
    failing = [SEEDANCE, "netlab", "--json", "--", "sh", "-c", "test $RANK = 0 || exit 7; exec sleep 60"]
    done = subprocess.run(failing, capture_output=True, text=True, check=False)
    assert done.returncode == 7
    answer = json.loads(done.stdout)
    assert (answer["failed_first"], answer["mbit"]) == (1, None)
    assert [rank["exit_code"] for rank in answer["by_rank"]] == [128 + 15, 7]
