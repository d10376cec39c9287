"""A study that has everything in it, and people who look at its pages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from pramana_core.channels import Symmetric
from pramana_core.domain import Variable
from pramana_core.plan import Block, Plan
from tests.miner_service.conftest import build, starting
from tests.miner_service.http.pages.browsers import Browser

MARKUP = "<script>alert(1)</script>"
TURNED = "\u202eevil\u05d0"
CATEGORIES = ("<b>x</b>", "\u202etxt.exe", "'\"&")


@dataclass
class Study:
    """A miner with a study of two owners, and who may look at it."""

    miner: Any
    analyst: Any
    owners: dict[str, Any]
    jobs: dict[str, Any]

    def browser(self, who: Any) -> Browser:
        """Somebody who is signed in."""
        found = Browser(self.miner)
        found.sign_in(who.token)
        return found


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """Names with markup and marks that turn text, at owners who share some records."""
    with starting(tmp_path_factory.mktemp("pages") / "data") as start:
        miner = start()
        analyst = miner.study("s")
        plan = Plan(
            (
                Block((Variable(MARKUP, CATEGORIES),), Symmetric.from_probability(3, 0.1)),
                Block((Variable(TURNED, ("a", "b")),), Symmetric.from_probability(2, 0.1)),
            )
        )
        codes = {MARKUP: [i % 3 for i in range(300)], TURNED: [i % 2 for i in range(300)]}
        plain = Plan((Block((Variable("C", ("no", "yes")),), Symmetric.from_probability(2, 0.1)),))
        owners = {name: miner.owner("s", name) for name in ("north", "south")}
        owners["north"].publish("s", build(plan, range(300), codes))
        shared = build(plain, range(100, 400), {"C": [i % 2 for i in range(300)]})
        owners["south"].publish("s", shared)
        jobs = {}
        for name, spec in {
            "table": {"kind": "contingency-table", "variables": [MARKUP], "records": "any"},
            "tree": {"kind": "decision-tree", "target": TURNED, "attributes": [MARKUP]},
        }.items():
            asked = {"spec": {"records": "common", **spec}}
            made = analyst("POST", "/v1/studies/s/jobs", json=asked)
            jobs[name] = analyst.wait(made.headers["location"])
            assert jobs[name]["state"] == "succeeded", jobs[name]
        yield Study(miner, analyst, owners, jobs)
