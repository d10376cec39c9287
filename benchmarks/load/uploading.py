"""Owners who send parts at once, in a process of their own; and one who asks for the health."""

from __future__ import annotations

import http.client
import multiprocessing
import socket
import statistics
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field

from benchmarks.load.running import Served, Target
from pramana_core.wire.parts import PART_MEDIA_TYPE

PAUSE = 0.005
_ASKED = b"GET /healthz HTTP/1.1\r\nHost: miner\r\n\r\n"


def upload(served: Served, targets: Sequence[Target], bodies: Sequence[bytes]) -> float:
    """Send every part to every target, all targets at once; return bytes a second."""

    def send(target: Target) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", served.port)
        headers = {**target.headers, "Content-Type": PART_MEDIA_TYPE}
        for number, body in enumerate(bodies):
            connection.request("PUT", f"{target.path}/parts/{number}", body, headers)
            with connection.getresponse() as answer:
                told = answer.read()
                if answer.status != 201:
                    raise RuntimeError(f"{answer.status}: {told.decode()}")
        connection.close()

    began = time.perf_counter()
    with ThreadPoolExecutor(len(targets)) as pool:
        list(pool.map(send, targets))
    return len(targets) * sum(map(len, bodies)) / (time.perf_counter() - began)


@dataclass
class Latencies:
    """How long answers took, in seconds."""

    every: list[float] = field(default_factory=list)

    @property
    def median(self) -> float:
        """The middle one."""
        return statistics.median(self.every)

    @property
    def p99(self) -> float:
        """The one that a hundredth of all exceed."""
        return statistics.quantiles(self.every, n=100)[98]


@contextmanager
def probing(served: Served) -> Iterator[Latencies]:
    """Ask for the health again and again meanwhile, from a process of its own."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_probe, args=(served.port, theirs))
    process.start()
    ours.recv()
    told = Latencies()
    try:
        yield told
    finally:
        ours.send(None)
        told.every = ours.recv()
        process.join()


def _probe(port: int, pipe: "multiprocessing.connection.Connection") -> None:  # type: ignore[name-defined]  # noqa: UP037
    ended = threading.Event()

    def wait() -> None:
        pipe.recv()
        ended.set()

    found: list[float] = []
    with socket.create_connection(("127.0.0.1", port)) as sock:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        pipe.send(None)
        threading.Thread(target=wait, daemon=True).start()
        while not ended.is_set() or len(found) < 2:
            began = time.perf_counter()
            sock.sendall(_ASKED)
            _require_answer(sock)
            found.append(time.perf_counter() - began)
            time.sleep(PAUSE)
    pipe.send(found)


def _require_answer(sock: socket.socket) -> None:
    """Take in one answer: the body of either server ends with its headers, or with a brace."""
    told = b""
    while not told.endswith((b"}", b"0\r\n\r\n")):
        piece = sock.recv(4096)
        if not piece:
            raise RuntimeError("the health was not told")
        told += piece
    if not told.startswith(b"HTTP/1.1 20"):
        raise RuntimeError(told.decode())
