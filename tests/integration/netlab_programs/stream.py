"""Rank 0 sends so many bytes to rank 1 over a plain socket, and prints how fast, once all have arrived."""

import json
import os
import socket
import sys
import time

from seedance_ops.netlab.counters import sent_by_this_rank

PORT = int(os.environ["MASTER_PORT"])


def main(payload_bytes):
    if os.environ["RANK"] == "0":
        with socket.create_server(("0.0.0.0", PORT)) as server:
            peer, _ = server.accept()
        began_s = time.perf_counter()
        peer.sendall(bytes(payload_bytes))
        peer.recv(1)
        took_s = time.perf_counter() - began_s
        rate = payload_bytes * 8 / 1e6 / took_s
        print(json.dumps({"mbit_per_s": rate, "own_payload_bytes": sent_by_this_rank().tcp_payload_bytes}))
    else:
        with connected() as peer:
            left = payload_bytes
            while left:
                left -= len(peer.recv(min(left, 1 << 20)))
            peer.sendall(b"x")


def connected():
    while True:
        try:
            return socket.create_connection((os.environ["MASTER_ADDR"], PORT))
        except ConnectionRefusedError:
            time.sleep(0.02)


main(int(sys.argv[1]))
