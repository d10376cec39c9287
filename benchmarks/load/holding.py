"""Clients that begin a body and do not end it."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

from benchmarks.load.running import Served, Target
from pramana_core.wire.parts import PART_MEDIA_TYPE


@contextmanager
def held_bodies(
    served: Served, targets: Sequence[Target], body: bytes, *, each: int, share: float
) -> Iterator[list[socket.socket]]:
    """Hold bodies open, `each` of every target, of which a share was sent."""
    with ExitStack() as stack:
        socks = []
        for target in targets:
            for number in range(each):
                sock = stack.enter_context(socket.create_connection(("127.0.0.1", served.port)))
                lines = [
                    f"PUT {target.path}/parts/{number} HTTP/1.1",
                    "Host: miner",
                    f"Content-Type: {PART_MEDIA_TYPE}",
                    f"Content-Length: {len(body)}",
                    *(f"{name}: {value}" for name, value in target.headers.items()),
                ]
                sock.sendall("\r\n".join([*lines, "", ""]).encode())
                sock.sendall(body[: int(share * len(body))])
                socks.append(sock)
        yield socks


def own_memory(process: int) -> int:
    """Return the bytes of memory that a process holds; its workers are not in it."""
    import psutil

    held: int = psutil.Process(process).memory_info().rss
    return held
