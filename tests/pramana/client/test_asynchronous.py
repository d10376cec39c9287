"""The client for programs of coroutines: the same answers, and nothing waits for another."""

from __future__ import annotations

import asyncio
import inspect
import threading

import httpx
import pytest

import pramana as pm
from pramana.client.asynchronous import AsyncJob, AsyncMiner, AsyncStudy
from pramana.client.connecting import Miner
from pramana.client.job import Job
from pramana.client.study import Study
from tests.pramana.client.test_job import LEARNER, Held
from tests.pramana.client.world import STUDY, URL

LEFT_OUT = {"sleep", "clock"}
"""What only tests of waiting replace; the event loop has its own."""


def connecting(world, **options):
    """Return the way of an analyst to a miner."""
    return pm.connect_async(URL, **{"token": world.token, "transport": world.transport, **options})


def test_it_has_what_the_client_has():
    for twin, kind in ((AsyncMiner, Miner), (AsyncStudy, Study), (AsyncJob, Job)):
        has, wanted = (
            {name: found for name, found in inspect.getmembers_static(one) if name[0] != "_"}
            for one in (twin, kind)
        )
        assert set(has) == set(wanted)
        for name, found in wanted.items():
            assert isinstance(found, property) == isinstance(has[name], property), name
            if not isinstance(found, property):
                same = [list(inspect.signature(one).parameters) for one in (found, has[name])]
                assert same[0] == same[1], name
    options = inspect.signature(pm.connect).parameters
    assert list(inspect.signature(pm.connect_async).parameters) == [
        name for name in options if name not in LEFT_OUT
    ]


@pytest.mark.slow
def test_a_study_is_looked_at_and_learned_from(world):
    async def work():
        async with connecting(world) as miner:
            study = await miner.study(STUDY)
            assert repr(study).startswith("AsyncStudy(voyage (The Titanic's people) at")
            assert (study.name, study.people) == (STUDY, "overlapping")
            owners, domain = await asyncio.gather(study.owners(), study.domain())
            assert owners["name"].tolist() == ["line", "port"]
            assert domain.names == ("class", "sex", "age", "survived")
            job = await study.run(LEARNER)
            with pytest.raises(pm.NotReady, match=r"await wait\(\) first"):
                _ = job.model
            table, bayes = await asyncio.gather((await study.table("sex")).wait(), job.wait())
            asked = len(world.transport.seen)
            assert table.model["sex"].tolist() == ["female", "male"]
            assert bayes.model.n_records_ == 2201
            assert bayes.warnings == ()
            assert len(world.transport.seen) == asked
            found = await study.job(bayes.id)
            return bayes.model, (await found.wait()).model

    here = world.study().run(LEARNER).wait().model
    for model in asyncio.run(work()):
        assert model.to_json() == here.to_json()


@pytest.mark.slow
def test_other_coroutines_run_while_a_job_is_waited_for(start, reports):
    """The job is let go by what runs meanwhile; were the loop held up, it would never end."""
    held = Held()
    world = start(learn=held)
    for owner, made in reports.items():
        world.publish(owner, made)

    async def let_go(job):
        while (await job.refresh()).progress == 0:
            await asyncio.sleep(0)
        held.go.set()

    async def work():
        miner = await connecting(world)
        job = await (await miner.study(STUDY)).run(LEARNER)
        with pytest.raises(pm.NotReady, match="not finished after 0 seconds"):
            await job.wait(timeout=0)
        waiting = asyncio.create_task(job.wait())
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        done, _ = await asyncio.gather(job.wait(), let_go(job))
        await miner.close()
        return done

    try:
        assert asyncio.run(work()).status == "succeeded"
    finally:
        held.go.set()


def test_mistakes_are_answered_alike(world):
    async def study(**options):
        async with connecting(world, **options) as miner:
            await miner.study("voyages")

    with pytest.raises(pm.NotFound, match="no study 'voyages'"):
        asyncio.run(study())
    with pytest.raises(pm.OptionError, match="attempts must be a whole number"):
        asyncio.run(study(attempts=0))
    with pytest.raises(pm.InputError, match="connect_async has no option 'tokn'"):
        pm.connect_async(URL, tokn="x")


def test_many_requests_are_on_their_way_at_once(world):
    """Each of them is answered only when all have been sent."""
    together = threading.Barrier(3, timeout=60)

    class Slow(httpx.BaseTransport):
        def handle_request(self, request):
            if request.url.path.endswith("/owners"):
                together.wait()
            return world.transport.handle_request(request)

    async def work():
        async with connecting(world, transport=Slow()) as slow:
            ways = [slow.study(STUDY) for _ in range(3)]
            return [study.name for study in await asyncio.gather(*ways)]

    assert asyncio.run(work()) == [STUDY] * 3
