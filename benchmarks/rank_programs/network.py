"""One rank of ``benchmarks/network.py``: streams, large and small all-reduces; prints what it found."""

from __future__ import annotations

import json
import os
import socket
import sys
import time
from collections.abc import Callable

import torch
import torch.distributed as dist

from seedance_ops.netlab.counters import sent_by_this_rank

SMALL_CALLS = 50
STREAM_PORT = 28_999


def main(payload_bytes: int, repeats: int) -> None:
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    gradient = torch.ones(payload_bytes // 4)
    dist.all_reduce(gradient)
    stream, payload = open_stream(rank), bytearray(payload_bytes)
    found = []
    for _ in range(repeats):
        before = sent_by_this_rank()
        stream_s = timed(lambda: send(stream, payload) if rank == 0 else receive(stream, payload))
        sent = sent_by_this_rank().since(before)
        found.append(
            {
                "throughput_mbit": payload_bytes * 8 / 1e6 / stream_s,
                "interface_bytes_per_payload_byte": sent.bytes / payload_bytes,
                "counted_payload_per_payload_byte": sent.tcp_payload_bytes / payload_bytes,
                # A ring of two: each rank sends half of the tensor twice.
                "all_reduce_mbit": payload_bytes * 8 / 1e6 / timed(lambda: dist.all_reduce(gradient)),
                "small_all_reduce_us": 1e6 * small_all_reduce_s(),
            }
        )
    if rank == 0:
        print(json.dumps(found))
    dist.destroy_process_group()


def timed(call: Callable[[], object]) -> float:
    """Seconds from the moment at which both ranks are ready."""
    dist.barrier()
    began_s = time.perf_counter()
    call()
    return time.perf_counter() - began_s


def small_all_reduce_s() -> float:
    """Seconds of one all-reduce of four bytes, over many."""
    small = torch.ones(1)
    return timed(lambda: [dist.all_reduce(small) for _ in range(SMALL_CALLS)]) / SMALL_CALLS


def open_stream(rank: int) -> socket.socket:
    address = (os.environ["MASTER_ADDR"], STREAM_PORT)
    if rank == 0:
        with socket.create_server(address) as server:
            dist.barrier()
            return server.accept()[0]
    dist.barrier()
    return socket.create_connection(address)


def send(stream: socket.socket, payload: bytearray) -> None:
    """Until the other end says that all has arrived."""
    stream.sendall(payload)
    stream.recv(1)


def receive(stream: socket.socket, payload: bytearray) -> None:
    place = memoryview(payload)
    while place:
        place = place[stream.recv_into(place) :]
    stream.sendall(b"x")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
