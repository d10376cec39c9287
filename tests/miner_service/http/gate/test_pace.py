"""Few bodies go on in each turn of the loop, in order, and none is forgotten."""

from __future__ import annotations

import asyncio
import itertools

from miner_service.http.access.gate import FairQueue


def test_few_go_on_in_each_turn_in_the_order_in_which_they_came():
    async def run():
        pace, went = FairQueue(at_once=2), []

        async def wait(number):
            await pace.turn()
            went.append(number)

        tasks = [asyncio.create_task(wait(number)) for number in range(7)]
        seen = []
        while not all(task.done() for task in tasks):
            await asyncio.sleep(0)
            seen.append(len(went))
        return went, [after - before for before, after in itertools.pairwise(seen)]

    went, steps = asyncio.run(run())
    assert went == list(range(7))
    assert max(steps) == 2


def test_who_is_gone_takes_no_turn_and_keeps_nobody_up():
    async def run():
        pace = FairQueue(at_once=1)
        gone, stays = (asyncio.create_task(pace.turn()) for _ in range(2))
        await asyncio.sleep(0)
        gone.cancel()
        await stays
        await pace.turn()  # and the next, when all had theirs
        return gone.cancelled()

    assert asyncio.run(run())
