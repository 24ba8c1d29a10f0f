"""What is said where no laboratory can be built."""

from __future__ import annotations

import pytest

from seedance_ops.netlab.errors import LabNotPossible
from seedance_ops.netlab.possible import require_lab

ROOT = "Name:\tpython\nCapEff:\t000001ffffffffff\n"
NOBODY = "Name:\tpython\nCapEff:\t0000000000000000\n"
NETWORK_ONLY = f"Name:\tpython\nCapEff:\t{1 << 12:016x}\n"  # CAP_NET_ADMIN is bit 12 (linux/capability.h)


def found(program):
    return f"/usr/sbin/{program}"


def refusal(tmp_path, status, which=found):
    file = tmp_path / "status"
    file.write_text(status)
    with pytest.raises(LabNotPossible) as refused:
        require_lab(which=which, status=file)
    return str(refused.value)


def test_root_with_the_programs_may(tmp_path):
    (tmp_path / "status").write_text(ROOT)
    looked_for = []
    require_lab(
        which=lambda program: looked_for.append(program) or found(program), status=tmp_path / "status"
    )
    assert {"ip", "tc"} <= set(looked_for)


def test_an_ordinary_user_is_told_which_rights_are_missing(tmp_path):
    message = refusal(tmp_path, NOBODY)
    assert "needs root (CAP_NET_ADMIN and CAP_SYS_ADMIN)" in message
    assert "sudo" in message


def test_rights_over_the_network_alone_do_not_make_namespaces(tmp_path):
    assert "needs root (CAP_SYS_ADMIN)" in refusal(tmp_path, NETWORK_ONLY)


def test_missing_programs_are_named_with_their_package(tmp_path):
    message = refusal(tmp_path, ROOT, which=lambda program: None if program in ("ip", "tc") else program)
    assert "ip and tc not found" in message
    assert "apt-get install iproute2" in message


def test_everything_that_is_missing_is_said_at_once(tmp_path):
    message = refusal(tmp_path, NOBODY, which=lambda _: None)
    assert "iproute2 util-linux" in message
    assert "needs root" in message


def test_another_system_than_linux_is_told_so(tmp_path):
    with pytest.raises(LabNotPossible, match="needs Linux"):
        require_lab(which=found, status=tmp_path / "no proc here")
