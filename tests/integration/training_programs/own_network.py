"""A network namespace of one's own, whose loopback device carries nothing else; not a program."""

from __future__ import annotations

import ctypes
import errno
import fcntl
import socket
import struct
import time

_NEW_USER, _NEW_NETWORK = 0x10000000, 0x40000000
_PATIENCE_S = 5.0
_SIOCSIFFLAGS = 0x8914
_UP_AND_RUNNING = 0x1 | 0x40


def enter_own_network() -> None:
    """Move this process, which must have one thread only, and what it forks from now on."""
    libc, deadline_s = ctypes.CDLL(None, use_errno=True), time.monotonic() + _PATIENCE_S
    while libc.unshare(_NEW_USER | _NEW_NETWORK):
        # A thread that was just told to end counts until the kernel has seen the last of it.
        if ctypes.get_errno() != errno.EINVAL or time.monotonic() > deadline_s:
            raise OSError(ctypes.get_errno(), "unshare")
        time.sleep(0.01)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        fcntl.ioctl(control, _SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", _UP_AND_RUNNING))
