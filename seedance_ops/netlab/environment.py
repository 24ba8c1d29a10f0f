"""The variables that torchrun sets, for one rank on a node of its own."""

from __future__ import annotations

from seedance_ops.netlab.plan import INTERFACE, address_of

FIRST_PORT = 29_500
"""torchrun's own default; a port is free in every laboratory, since its addresses are."""


def rank_environment(rank: int, ranks: int, *, port: int = FIRST_PORT) -> dict[str, str]:
    """What a script under torchrun reads; every rank is a node with one process."""
    return {
        "RANK": str(rank),
        "WORLD_SIZE": str(ranks),
        "LOCAL_RANK": "0",
        "LOCAL_WORLD_SIZE": "1",
        "GROUP_RANK": str(rank),
        "GROUP_WORLD_SIZE": str(ranks),
        "MASTER_ADDR": address_of(0),
        "MASTER_PORT": str(port),
        "GLOO_SOCKET_IFNAME": INTERFACE,
        "TP_SOCKET_IFNAME": INTERFACE,
    }


SHARED_MACHINE = {"OMP_NUM_THREADS": "1"}
"""As torchrun sets for several processes on one machine, unless the user has: they share the cores."""
