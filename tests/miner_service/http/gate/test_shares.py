"""How much one sender may ask for, by a clock that the test holds; and who waits for a thread."""

from __future__ import annotations

import asyncio
import threading

import pytest

from miner_service.http.access.pools import Pool
from miner_service.http.access.shares import Buckets, InFlight
from pramana_core.errors import NotReady, TooManyRequests


class Now:
    """A clock that stands still unless it is put forward."""

    def __init__(self):
        self.seconds = 100.0

    def __call__(self):
        return self.seconds


def test_a_bucket_takes_a_burst_and_then_its_rate():
    now = Now()
    buckets = Buckets(2.0, now)
    assert [buckets.take("a") for _ in range(20)] == [0.0] * 20
    assert buckets.take("a") == pytest.approx(0.5)
    assert buckets.take("b") == 0.0
    now.seconds += 0.5
    assert buckets.take("a") == 0.0
    assert buckets.take("a") > 0
    now.seconds += 1000
    assert [buckets.take("a") for _ in range(20)] == [0.0] * 20
    assert buckets.take("a") > 0


def test_senders_that_were_silent_are_forgotten():
    now = Now()
    buckets = Buckets(1.0, now)
    for number in range(4096):
        buckets.take(str(number))
    now.seconds += 10
    buckets.take("one more")
    assert list(buckets._spent) == ["one more"]


def test_bodies_on_their_way_are_counted_by_token():
    shares = InFlight(2, 100)
    with shares.in_transfer("a", 60):
        with pytest.raises(TooManyRequests), shares.in_transfer("a", 41):
            raise AssertionError("it has no room")
        with shares.in_transfer("a", 40):
            with pytest.raises(TooManyRequests), shares.in_transfer("a", 0):
                raise AssertionError("it has no room")
            with shares.in_transfer("b", 1000):
                assert set(shares._transfers) == {"a", "b"}
        with shares.in_transfer("a", 40):
            pass
    assert shares._transfers == {}


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
