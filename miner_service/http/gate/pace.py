"""Bodies take turns, so that whoever asks for little meanwhile need not wait for all of them."""

from __future__ import annotations

import asyncio
from collections import deque

AT_ONCE = 3
"""So many go on in each turn of the loop: pieces of bodies take it longer than all else."""


class FairQueue:
    """Lets few go on in each turn of the loop, in the order in which they came.

    Nobody holds anything while it waits for its sender: a slow one keeps nobody up. What waits
    here is not read from its connection meanwhile.
    """

    def __init__(self, at_once: int = AT_ONCE) -> None:
        self._at_once = at_once
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._turning = False

    async def turn(self) -> None:
        """Wait for a turn."""
        loop = asyncio.get_running_loop()
        mine: asyncio.Future[None] = loop.create_future()
        self._waiting.append(mine)
        if not self._turning:
            self._turning = True
            loop.call_soon(self._next)
        await mine

    def _next(self) -> None:
        going = 0
        while self._waiting and going < self._at_once:
            one = self._waiting.popleft()
            if not one.done():  # else whoever waited was cancelled
                one.set_result(None)
                going += 1
        self._turning = bool(self._waiting)
        if self._turning:
            asyncio.get_running_loop().call_soon(self._next)
