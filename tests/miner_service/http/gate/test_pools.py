"""Who waits for a thread waits only so long; what is being done is done."""

from __future__ import annotations

import asyncio
import threading

import pytest

from miner_service.http.access.pools import Pool
from pramana_core.errors import NotReady


def test_who_waits_too_long_for_a_thread_is_told_and_what_is_begun_is_done():
    begun, go_on, done = threading.Event(), threading.Event(), []

    def stand_still():
        begun.set()
        go_on.wait()
        return "done"

    async def ask():
        pool = Pool("few", 1, patience=0.02)
        first = asyncio.create_task(pool.run(stand_still))
        while not begun.is_set():
            await asyncio.sleep(0.001)
        with pytest.raises(NotReady):
            await pool.run(done.append, "given up")
        go_on.set()
        assert await first == "done"
        pool.close()

    asyncio.run(ask())
    assert done == []
