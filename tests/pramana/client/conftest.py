"""A miner in this process, owners that randomize and publish, and an analyst's line to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

import pramana as pm
from miner_service.jobs.runner import learn_model
from pramana_core.channels import Symmetric
from pramana_core.domain import Domain
from pramana_core.plan import Block, Plan
from tests.pramana.client.world import STUDY, World, opened


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., World]]:
    """Start a miner with an empty study."""
    with ExitStack() as stack:

        def start_one(learn: Any = learn_model) -> World:
            return stack.enter_context(opened(tmp_path, learn))

        yield start_one


@pytest.fixture(scope="session")
def reports() -> dict[str, pm.Reports]:
    """What two owners report of different columns of the same people."""
    people = pm.example("titanic")
    domain = Domain.of(**{name: sorted(people[name].unique()) for name in people})
    owners = {"line": ["class", "sex"], "port": ["age", "survived"]}
    keys = pm.Keys.for_experiments(7)

    def plan_of(names: list[str]) -> Plan:
        variables = [domain[name] for name in names]
        return Plan(tuple(Block((v,), Symmetric.from_probability(v.size, 0.1)) for v in variables))

    return {
        owner: pm.randomize(people, plan_of(names), keys, record_id=people.index, study=STUDY)
        for owner, names in owners.items()
    }


@pytest.fixture(scope="session")
def together(reports: dict[str, pm.Reports]) -> pm.Reports:
    """The same reports side by side, as somebody would have them who learns without a miner."""
    parts = reports.values()
    plan = Plan(tuple(block for part in parts for block in part.plan.blocks))
    return pm.Reports(plan, {name: c for part in parts for name, c in part.codes.items()})


@pytest.fixture
def world(start: Callable[..., World], reports: dict[str, pm.Reports]) -> World:
    """A miner whose study has the releases of both owners."""
    world = start()
    for owner, made in reports.items():
        world.publish(owner, made)
    return world
