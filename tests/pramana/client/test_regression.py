"""A regression at the miner is what `fit` learns here from the same masked records."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import pramana as pm
from pramana_core.wire.parts import PART_MEDIA_TYPE
from tests.miner_service.masking import COLUMNS, masked
from tests.pramana.client.world import STUDY, opened

RECORDS = 300


@pytest.fixture(scope="module")
def sent():
    """Masked records, as an owner sends them."""
    rng = np.random.default_rng(3)
    age, sex = rng.uniform(20, 60, RECORDS), rng.integers(0, 2, RECORDS)
    debt = 300 - 0.2 * (age - 40) ** 2 + 9 * sex + rng.normal(0, 9, RECORDS)
    values = {"age": age, "sex": sex, "debt": debt}
    return masked(range(RECORDS), values=values, method="egadp", per_part=300)


@pytest.fixture(scope="module")
def frame(sent):
    """The same records as a frame, in the order in which the miner has them."""
    held = sent.columns
    sex = pd.Categorical.from_codes(held["sex"], COLUMNS[1]["categories"])
    return pd.DataFrame({"age": held["age"], "sex": sex, "debt": held["debt"]})


@pytest.fixture(scope="module")
def world(tmp_path_factory, sent):
    """A miner with one masked release."""
    with opened(tmp_path_factory.mktemp("regression")) as world:
        token = world.owner("bank")
        made = world.rest("POST", f"/v1/studies/{STUDY}/releases", token, json=sent.body)
        path = f"/v1/releases/{made['id']}"
        for number, part in enumerate(sent.parts):
            media = {"Content-Type": PART_MEDIA_TYPE}
            world.rest("PUT", f"{path}/parts/{number}", token, content=part, headers=media)
        world.rest("POST", f"{path}/seal", token)
        yield world


def test_the_miner_learns_what_fit_learns(world, frame):
    learner = pm.Regression("debt", degree=3, confidence=0.9)
    found = world.study().run(learner).wait().model
    here = pm.Regression("debt", degree=3, confidence=0.9).fit(
        SimpleNamespace(frame=frame, method="egadp")
    )
    assert found.get_params() == here.get_params()
    assert found.to_document()["document"] == here.to_document()["document"]
    np.testing.assert_array_equal(found.predict(frame), here.predict(frame))
    assert found.masking_ == ("egadp at bank",)
    assert "300 records masked by egadp at bank" in repr(found)
    again = type(found).from_json(found.to_json())
    assert repr(again) == repr(found)
