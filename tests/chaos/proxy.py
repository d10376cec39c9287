"""A bad network between agents and miner: whole requests that are lost, late, doubled or cut.

One request to a connection. What becomes of a request is a function of the seed, of who sends it
and of how many that sender has sent before; what was done is in `done`.
"""

from __future__ import annotations

import asyncio
import random
import re
import threading
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Literal, get_args

Fault = Literal[
    "none",
    "twice",
    "late copy",
    "late",
    "lost before",
    "lost after",
    "body cut",
    "answer cut",
]
Stage = Literal["arrived", "half", "handled", "answered"]
"""Of a request: read by the proxy, half its bytes at the miner, all of them, its answer here."""

STEPS = (
    ("upload", re.compile(r"PUT /v1/releases/(?P<release>[^/]+)/parts/(?P<number>\d+)$")),
    ("seal", re.compile(r"POST /v1/releases/(?P<release>[^/]+)/seal$")),
    ("announce", re.compile(r"POST /v1/studies/[^/]+/releases$")),
    ("ask", re.compile(r"POST /v1/studies/[^/]+/jobs$")),
)
_LATE_SECONDS = 0.05


@dataclass(eq=False)
class Flight:
    """One request on its way."""

    caller: str
    step: str
    line: str
    raw: bytes
    head_bytes: int
    release: str = ""
    part: int = -1
    stage: Stage = "arrived"


Act = Callable[[Flight], bool]
"""Does something to a process while a request is on its way; says whether it was done."""


@dataclass(eq=False)
class Trap:
    """What is done as soon as a request of some step is at some stage."""

    step: str
    stage: Stage
    act: Act
    skip: int = 0
    pause: float = 0.0
    sprung: Future[bool] = field(default_factory=Future)

    def takes(self, flight: Flight) -> bool:
        """Whether the request is the one waited for."""
        fits = flight.step == self.step
        if fits and not self.sprung.done():
            self.skip -= 1
        return fits and self.skip < 0 and not self.sprung.done()


class Proxy:
    """Listens on loopback in a thread of its own; `target` is where the miner is, if it is."""

    def __init__(self, seed: int, weights: Mapping[Fault, float]) -> None:
        self._seed = seed
        self.weights = dict(weights)
        self.callers: dict[str, str] = {}
        """Who has which token."""
        self.done: Counter[str] = Counter()
        self.receipts: set[tuple[str, int]] = set()
        """The parts, by release and number, that the miner acknowledged."""
        self.held: dict[str, str] = {}
        """At which step a caller's request waits for a trap."""
        self.url = ""
        self._awaited: frozenset[str] = frozenset()
        self._sent: Counter[str] = Counter()
        self._target: tuple[str, int] | None = None
        self._traps: list[Trap] = []
        self._copies: list[tuple[int, Flight]] = []
        self._handled = 0
        self._loop = asyncio.new_event_loop()
        self._changed = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._thread = threading.Thread(target=self._loop.run_forever, name="proxy", daemon=True)

    def start(self) -> None:
        """Take a free port."""
        self._thread.start()

        async def listen() -> asyncio.Server:
            return await asyncio.start_server(self._connected, "127.0.0.1", 0)

        self._server = self._call(listen())
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    def stop(self) -> None:
        """Let go of everybody."""

        async def end() -> None:
            self._server.close()
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

        self._call(end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def lead_to(self, url: str | None) -> None:
        """Send what comes to a miner; None while there is none, then requests wait."""

        async def lead() -> None:
            self._target = None
            if url is not None:
                host, port = url.removeprefix("http://").split(":")
                self._target = host, int(port)
            self._tell()

        self._call(lead())

    def arm(self, trap: Trap) -> Trap:
        """Set a trap."""

        async def add() -> None:
            self._traps.append(trap)
            self._tell()

        self._call(add())
        return trap

    def wait_for_traps(self, steps: Iterable[str]) -> None:
        """Let requests of these steps pass only while there is a trap for them."""

        async def wait() -> None:
            self._awaited = frozenset(steps)
            self._tell()

        self._call(wait())

    def deliver_copies(self) -> None:
        """Deliver the late copies that are still on their way."""

        async def flush() -> None:
            copies, self._copies = self._copies, []
            for _, flight in copies:
                await self._forward(flight)

        self._call(flush())

    def _call(self, work: Awaitable[object]) -> object:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(60)

    def _tell(self) -> None:
        """Wake whoever waits for a change."""
        self._changed.set()
        self._changed = asyncio.Event()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        self._tasks.add(task)
        try:
            with suppress(OSError, asyncio.IncompleteReadError):
                await self._serve(await self._read(reader), writer)
        finally:
            self._tasks.discard(task)
            writer.close()

    async def _read(self, reader: asyncio.StreamReader) -> Flight:
        head = await reader.readuntil(b"\r\n\r\n")
        lines = head.decode("latin-1").split("\r\n")
        fields = dict(line.lower().split(": ", 1) for line in lines[1:] if line)
        body = await reader.readexactly(int(fields.get("content-length", "0")))
        kept = [line for line in lines[:-2] if not line.lower().startswith("connection:")]
        head = "\r\n".join([*kept, "Connection: close", "", ""]).encode("latin-1")
        token = re.search(r"(?mi)^authorization: bearer (\S+)\r$", head.decode("latin-1"))
        caller = self.callers.get(token[1] if token else "", "")
        line = " ".join(lines[0].split(" ")[:2])
        flight = Flight(caller, "other", line, head + body, len(head))
        for step, pattern in STEPS:
            if found := pattern.match(line):
                flight.step = step
                flight.release = found.groupdict().get("release", "")
                flight.part = int(found.groupdict().get("number", -1))
        return flight

    def _fault(self, flight: Flight) -> Fault:
        if not flight.caller:
            return "none"  # an invitation can be taken up once: nobody may send that again
        self._sent[flight.caller] += 1
        drawn = random.Random(f"{self._seed}:{flight.caller}:{self._sent[flight.caller]}")
        (fault,) = drawn.choices(list(self.weights), list(self.weights.values()))
        return fault

    async def _serve(self, flight: Flight, writer: asyncio.StreamWriter) -> None:
        fault = self._fault(flight)
        while flight.step in self._awaited and all(t.step != flight.step for t in self._traps):
            self.held[flight.caller] = flight.step
            await self._changed.wait()
        self.held.pop(flight.caller, None)
        await self._at(flight, "arrived")
        answer = await self._suffer(flight, fault)
        self.done[fault] += 1
        if answer:
            writer.write(answer[: len(answer) // 2] if fault == "answer cut" else answer)
            await writer.drain()

    async def _suffer(self, flight: Flight, fault: Fault) -> bytes | None:
        """Do to a request what falls to it; return the answer that its sender is given."""
        if fault == "lost before":
            return None
        if fault == "late":
            await asyncio.sleep(_LATE_SECONDS)
        if fault == "twice":
            _, answer = await asyncio.gather(self._forward(flight), self._forward(flight))
        else:
            answer = await self._forward(flight, cut=fault == "body cut")
        await self._deliver_due()
        if fault == "late copy":
            due = self._handled + random.Random(flight.raw).randint(1, 30)
            self._copies.append((due, flight))
        return None if fault == "lost after" else answer

    async def _deliver_due(self) -> None:
        due = [copy for copy in self._copies if copy[0] <= self._handled]
        self._copies = [copy for copy in self._copies if copy[0] > self._handled]
        for _, flight in due:
            await self._forward(flight)

    async def _forward(self, flight: Flight, *, cut: bool = False) -> bytes | None:
        """Send a request to the miner; return its answer, None if there was none or half of one."""
        while self._target is None:
            await self._changed.wait()
        answer = b""
        with suppress(OSError):
            reader, writer = await asyncio.open_connection(*self._target)
            try:
                half = flight.head_bytes + (len(flight.raw) - flight.head_bytes) // 2
                writer.write(flight.raw[:half])
                await writer.drain()
                await self._at(flight, "half")
                if cut:
                    return None
                writer.write(flight.raw[half:])
                await writer.drain()
                reading = asyncio.ensure_future(reader.read(-1))
                await self._at(flight, "handled", reading)
                answer = await reading
            finally:
                writer.close()
        if not _is_whole(answer):
            return None
        await self._at(flight, "answered")
        status = int(answer.split(b" ")[1])
        if flight.step == "upload" and status in (200, 201):
            self.receipts.add((flight.release, flight.part))
        self._handled += 1
        self._tell()
        return answer

    async def _at(
        self, flight: Flight, stage: Stage, reading: asyncio.Future[bytes] | None = None
    ) -> None:
        """Note where a request is, and spring the trap that waits for it there."""
        flight.stage = stage
        for trap in [t for t in self._traps if t.stage == stage and t.takes(flight)]:
            if reading is not None and trap.pause:
                await asyncio.wait([reading], timeout=trap.pause)
            # What was answered meanwhile is no longer being handled; or another sprang it.
            if trap not in self._traps or (reading is not None and reading.done()):
                continue
            self._traps.remove(trap)
            trap.sprung.set_result(trap.act(flight))


def _is_whole(answer: bytes) -> bool:
    head, end, body = answer.partition(b"\r\n\r\n")
    length = re.search(rb"(?mi)^content-length: (\d+)\r?$", head)
    return bool(end) and (length is None or int(length[1]) == len(body))


def faults(rare: float) -> dict[Fault, float]:
    """Return weights: each fault with probability `rare`."""
    kinds: tuple[Fault, ...] = get_args(Fault)[1:]
    return {"none": 1 - rare * len(kinds)} | dict.fromkeys(kinds, rare)
