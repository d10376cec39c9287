"""A domain from a table and a public list."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pramana as pm
from owner_agent.site.planning import planned
from owner_agent.site.site import site_from
from pramana.frames.codes import encode

PEOPLE = pd.DataFrame({"age": [23, 31, 64], "sex": ["f", "m", "f"]})
LIST: dict[str, Any] = {"age": {"cuts": [30, 45]}, "sex": ["f", "m"]}
DOMAIN = pm.Domain.of(age=["<30", "30-45", ">=45"], sex=["f", "m"])


def test_a_list_may_be_written_in_several_ways():
    ways: list[Any] = [
        LIST,
        DOMAIN,
        {"age": DOMAIN["age"], "sex": {"categories": ("f", "m")}},
        {"sex": np.array(["f", "m"]), "age": list(DOMAIN["age"].categories)},
    ]
    assert [pm.domain(PEOPLE, way) for way in ways] == [DOMAIN] * len(ways)


def test_variables_are_those_of_a_site_file_that_says_the_same():
    said = {
        "age": {"cuts": [30, 45.5], "representatives": [20, 40, 60]},
        "sex": {"categories": ["f", "m"]},
        "income": {"cuts": [0], "missing": "unknown"},
    }
    frame = PEOPLE.assign(income=[1.0, np.nan, -2.0])
    variables = [{"name": name, "sensitive": False, **keys} for name, keys in said.items()]
    content = {"owner": "a", "table": "t.csv", "record_id": "id", "variables": variables}
    site = planned(site_from(content, Path()))
    assert list(pm.domain(frame, said)) == list(site.variables.values())


def test_columns_are_chosen_and_ordered():
    assert pm.domain(PEOPLE, LIST, columns=["sex", "age"]).names == ("sex", "age")
    assert pm.domain(PEOPLE, {**LIST, "town": ["A", "B"]}, columns="sex").names == ("sex",)
    with pytest.raises(pm.InputError, match="'town', which frame lacks"):
        pm.domain(PEOPLE, {**LIST, "town": ["A", "B"]})


def test_what_is_observed_makes_a_domain_that_takes_every_row():
    rng = np.random.default_rng(3)
    table = pd.DataFrame(
        {
            "id": range(600),
            "x": np.where(rng.random(600) < 0.1, np.nan, rng.normal(size=600)),
            "y": rng.normal(size=600).round(3),
            "answer": rng.choice(["yes", "no", None], 600),
            "town": np.where(rng.random(600) < 0.9, "big", [f"t{i % 50}" for i in range(600)]),
            "member": rng.random(600) < 0.3,
        }
    )
    found = pm.observed_categories(table)
    assert list(found) == ["x", "y", "answer", "town", "member"]
    assert json.loads(json.dumps(found)) == found
    assert found["answer"] == ["(empty)", "no", "yes"]
    assert set(found["town"]) == {"(other)", "big"}
    domain = pm.domain(table, found, columns=list(found))
    assert domain["y"].representatives is not None
    assert domain["x"].categories[-1] == "(empty)"
    codes = encode(table, domain, "frame")
    assert [len(set(codes[v.name].tolist())) for v in domain] == list(domain.shape)


def test_columns_that_nothing_can_be_made_of_are_left_out_of_the_domain_with_a_reason():
    table = {"sex": ["f", "m"] * 20, "town": ["here"] * 40, "number": list(range(1, 41))}
    found = pm.observed_categories(table)
    assert sorted(found.left_out) == ["number", "town"]
    assert all(found.left_out.values())
    assert pm.domain(table, found).names == ("sex",)
    with pytest.raises(pm.PramanaError, match="'town'"):
        pm.domain(table, dict(found))


@pytest.mark.slow
@given(
    st.lists(
        st.tuples(
            st.none() | st.floats(-1e6, 1e6) | st.integers(-99, 99),
            st.none() | st.sampled_from(["a", "b", "3", " c"]) | st.booleans(),
        ),
        min_size=2,
        max_size=40,
    )
)
def test_any_table_fits_the_domain_of_what_is_observed(rows: list[tuple[Any, Any]]):
    table = pd.DataFrame({"x": [x for x, _ in rows], "y": [y for _, y in rows]}, dtype=object)
    try:
        found = pm.observed_categories(table)
    except pm.InputError as error:
        assert "cannot become variables" in str(error)  # noqa: PT017
        return
    domain = pm.domain(table, found, columns=list(found))
    assert all(len(codes) == len(rows) for codes in encode(table, domain, "frame").values())
