"""Which commands build a laboratory: text only, so that it can be read and tested without rights.

The bridge stands in a namespace of its own, the *hub*, and every pair of virtual interfaces is made between
the hub and a rank's namespace. Nothing appears in the machine's own network: no interface, address, route or
firewall rule of it can meet one of a laboratory, and laboratories cannot meet each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import IPv4Network

from seedance_ops.netlab.names import LabName
from seedance_ops.netlab.shape import LabShape

Command = tuple[str, ...]

INTERFACE = "eth0"
"""A rank's interface, in its own namespace."""
BRIDGE = "bridge0"

_SUBNET = IPv4Network("10.77.0.0/16")


def address_of(rank: int) -> str:
    """A rank's address; the same in every laboratory."""
    return str(_SUBNET.network_address + rank + 1)


def port_of(rank: int) -> str:
    """The hub's end of a rank's link."""
    return f"rank{rank}"


def set_up(name: LabName, shape: LabShape) -> list[Command]:
    """The commands that build a laboratory, in their order."""
    commands = [_ip_netns("add", name.hub), *_bridge(name)]
    for rank in range(shape.ranks):
        commands += [_ip_netns("add", name.of_rank(rank)), *_link(name, rank), *_shaping(name, rank, shape)]
    return commands


def remove(namespace: str) -> Command:
    """The command that removes a namespace, and with it every interface in it."""
    return _ip_netns("delete", namespace)


def enter(name: LabName, rank: int, argv: Sequence[str]) -> Command:
    """A rank's command line, run in its namespace; the kernel kills the process when its starter dies.

    Both wrappers replace themselves: the process that is started is the command's own.
    """
    return (
        *("setpriv", "--pdeathsig", "KILL", "--"),
        *("ip", "netns", "exec", name.of_rank(rank)),
        *argv,
    )


def read_counters(name: LabName) -> Command:
    """The command that prints, as JSON, what passed each port of the hub."""
    return ("ip", "-n", name.hub, "-s", "-j", "link", "show", "master", BRIDGE)


def _ip_netns(verb: str, namespace: str) -> Command:
    return ("ip", "netns", verb, namespace)


def _bridge(name: LabName) -> list[Command]:
    # Neither snooping nor spanning tree nor IPv6: what the counters show is what the ranks sent.
    return [
        (
            "ip",
            "-n",
            name.hub,
            "link",
            "add",
            BRIDGE,
            "type",
            "bridge",
            "mcast_snooping",
            "0",
            "stp_state",
            "0",
        ),
        ("ip", "-n", name.hub, "link", "set", "dev", BRIDGE, "addrgenmode", "none", "up"),
    ]


def _link(name: LabName, rank: int) -> list[Command]:
    hub, own, port = name.hub, name.of_rank(rank), port_of(rank)
    return [
        ("ip", "-n", hub, "link", "add", port, "type", "veth", "peer", "name", INTERFACE, "netns", own),
        ("ip", "-n", hub, "link", "set", "dev", port, "master", BRIDGE, "addrgenmode", "none", "up"),
        ("ip", "-n", own, "link", "set", "dev", "lo", "up"),
        ("ip", "-n", own, "link", "set", "dev", INTERFACE, "addrgenmode", "none", "up"),
        ("ip", "-n", own, "address", "add", f"{address_of(rank)}/{_SUBNET.prefixlen}", "dev", INTERFACE),
    ]


def _shaping(name: LabName, rank: int, shape: LabShape) -> list[Command]:
    if shape.rate_bit_per_s is None:
        return []
    own = name.of_rank(rank)
    rate, burst, limit = f"{shape.rate_bit_per_s}bit", str(shape.burst_bytes), str(shape.queue_bytes)
    bucket = ("tbf", "rate", rate, "burst", burst, "limit", limit)
    return [("tc", "-n", own, "qdisc", "add", "dev", INTERFACE, "root", *bucket)]
