"""What an interface has sent, as the kernel counts it, and how much of that was payload."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from seedance_ops.netlab.errors import LabError
from seedance_ops.netlab.plan import port_of

_INTERFACES = Path("/proc/net/dev")
_SENT_BYTES, _SENT_PACKETS = 8, 9
"""The ninth and tenth figures behind an interface's name (proc(5), ``/proc/net/dev``)."""

_HEADER_BYTES = 14 + 20 + 32
"""Ethernet (IEEE 802.3, without checksum), IPv4 (RFC 791), TCP with time stamps (RFC 9293, RFC 7323)."""


@dataclass(frozen=True)
class Sent:
    """What a rank's interface has sent.

    The kernel hands up to 64 KiB over as one packet with one set of headers (segmentation offload), and cuts
    it into packets of 1,500 B where the shaper's bucket is smaller. So the same payload makes 0.2 to 6 % more
    bytes, depending on the link: compare payloads.
    """

    bytes: int
    """With Ethernet, IP and TCP headers, with acknowledgements and what was sent again."""
    packets: int

    @property
    def tcp_payload_bytes(self) -> int:
        """Without headers: exact for TCP, but for a few options of the handshake, of losses, and for ARP."""
        return self.bytes - _HEADER_BYTES * self.packets

    def since(self, earlier: Sent) -> Sent:
        """What was sent after an earlier reading."""
        return Sent(self.bytes - earlier.bytes, self.packets - earlier.packets)


def sent_by_rank(links: str, ranks: int) -> tuple[Sent, ...]:
    """By rank, from what ``plan.read_counters`` printed: what the hub's port received, the rank sent."""
    received = {link["ifname"]: link["stats64"]["rx"] for link in json.loads(links)}
    try:
        ports = [received[port_of(rank)] for rank in range(ranks)]
    except KeyError as missing:
        raise LabError(f"the hub has no port {missing}: something else changed the laboratory") from None
    return tuple(Sent(int(port["bytes"]), int(port["packets"])) for port in ports)


def sent_by_this_rank(environ: Mapping[str, str] = os.environ, *, interfaces: Path = _INTERFACES) -> Sent:
    """For a rank: what its own interface has sent until now; raises ``LabError`` outside a laboratory."""
    wanted = environ.get("GLOO_SOCKET_IFNAME")
    for line in interfaces.read_text(encoding="ascii").splitlines():
        name, colon, text = line.partition(":")
        if colon and name.strip() == wanted:
            figures = [int(figure) for figure in text.split()]
            return Sent(figures[_SENT_BYTES], figures[_SENT_PACKETS])
    raise LabError(f"no interface {wanted} (GLOO_SOCKET_IFNAME) here: not a rank of a laboratory")
