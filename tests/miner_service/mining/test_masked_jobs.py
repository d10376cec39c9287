"""Jobs on masked releases: what they receive is what the owners sent, joined as they ask."""

from __future__ import annotations

import numpy as np
import pytest

from tests.miner_service.masking import COLUMNS, masked

JOBS = "/v1/studies/asia/jobs"
SPEC = {"kind": "regression", "target": "debt", "degree": 1}
AGE, SEX, DEBT = COLUMNS
INCOME = {"name": "income", "role": "masked", "type": "numeric"}


def create(analyst, **spec):
    return analyst("POST", JOBS, json={"spec": SPEC | spec})


def learn(analyst, **spec):
    return analyst.learn("asia", SPEC | spec)


def coefficients(model):
    """Of a constant, the age, and the second sex."""
    return [one["estimate"] for one in model["document"]["coefficients"]]


def least_squares(sent):
    """Least squares on what was sent, by the normal equations: another way than the miner's."""
    x = np.column_stack([np.ones(len(sent["age"])), sent["age"], sent["sex"] == 1])
    return np.linalg.solve(x.T @ x, x.T @ sent["debt"])


@pytest.mark.slow
def test_owners_of_different_people_are_put_together(miner):
    analyst = miner.study("asia")
    sent = [masked(range(60), seed=1), masked(range(60, 90), seed=2)]
    for name, built in zip(("north", "south"), sent, strict=True):
        miner.owner("asia", name).publish("asia", built)
    model = learn(analyst, records="any")
    assert model["records"] == 90
    both = {n: np.concatenate([built.columns[n] for built in sent]) for n in sent[0].columns}
    np.testing.assert_allclose(coefficients(model), least_squares(both), rtol=1e-9)
    assert [one["owner"] for one in model["masking"]] == ["north", "south"]


def of_the_same_people(miner, south=range(60)):
    """Two owners with other columns; return what they sent, by record number."""
    analyst = miner.study("asia")
    rng = np.random.default_rng(5)
    every = {
        "age": rng.normal(40, 9, 100),
        "sex": rng.integers(0, 2, 100),
        "debt": rng.normal(9, 2, 100),
    }
    north = masked(range(60), columns=[AGE, SEX, INCOME], values={
        "age": every["age"][:60], "sex": every["sex"][:60], "income": np.zeros(60)})  # fmt: skip
    south_built = masked(south, columns=[DEBT], values={"debt": every["debt"][list(south)]})
    for name, built in (("north", north), ("south", south_built)):
        miner.owner("asia", name).publish("asia", built)
    return analyst, every


def test_owners_of_the_same_people_are_joined_by_pseudonym(miner):
    analyst, every = of_the_same_people(miner)
    model = learn(analyst, features=["age", "sex"])
    assert model["records"] == 60
    wanted = least_squares({name: values[:60] for name, values in every.items()})
    np.testing.assert_allclose(coefficients(model), wanted, rtol=1e-9)


def test_records_that_overlap_are_joined_only_when_asked(miner, assert_problem):
    analyst, every = of_the_same_people(miner, range(20, 90))
    refused = create(analyst, features=["age", "sex"])
    assert_problem(refused, 409, "records-do-not-align", "40 are at every owner")
    model = learn(analyst, features=["age", "sex"], records="common")
    assert model["records"] == 40
    wanted = least_squares({name: values[20:60] for name, values in every.items()})
    np.testing.assert_allclose(coefficients(model), wanted, rtol=1e-9)


def test_a_study_without_masked_releases_says_so(miner, release_a, assert_problem):
    analyst = miner.study("asia")
    owner = miner.owner("asia", "north")
    assert_problem(create(analyst), 409, "records-do-not-align", "['north']")
    owner.publish("asia", release_a)
    assert_problem(create(analyst), 409, "variables-missing", "No masked release", "owner-agent")


def test_other_jobs_do_not_see_masked_releases(miner, release_a, assert_problem):
    analyst = miner.study("asia")
    owner = miner.owner("asia", "north")
    owner.publish("asia", masked(range(50)))
    table = {"spec": {"kind": "contingency-table", "variables": ["sex"]}}
    assert_problem(
        analyst("POST", JOBS, json=table), 409, "records-do-not-align", "could learn from"
    )
    owner.publish("asia", release_a)
    refused = analyst("POST", JOBS, json=table)
    assert_problem(refused, 409, "variables-missing", " A, B.")
    counted = analyst("POST", JOBS, json={"spec": {**table["spec"], "variables": ["A"]}})
    job = analyst.wait(counted.headers["location"])
    assert analyst.get(f"/v1/models/{job['model']}")["records"] == 100
    assert learn(analyst)["records"] == 50


@pytest.mark.slow
@pytest.mark.parametrize(
    ("south", "spec", "code", "words"),
    [
        ({}, {}, "conflict", "More than one owner reports"),
        ({}, {"records": "any"}, "conflict", "would count twice"),
        (
            {"ids": range(60, 80), "columns": [AGE, DEBT]},
            {"records": "any"},
            "variables-missing",
            "lacks the columns ['sex']",
        ),
        (
            {"ids": range(60, 80), "columns": [AGE, SEX | {"categories": ["m", "f"]}, DEBT]},
            {"records": "any"},
            "domain-invalid",
            "describe column 'sex' differently",
        ),
        (
            {"columns": [INCOME]},
            {"features": ["wealth"]},
            "variables-missing",
            " age, debt, income, sex.",
        ),
        ({"columns": [INCOME]}, {"target": "wealth"}, "variables-missing", "wealth"),
    ],
)
def test_what_cannot_be_put_together_is_refused_at_once(
    miner, assert_problem, south, spec, code, words
):
    analyst = miner.study("asia")
    miner.owner("asia", "north").publish("asia", masked(range(60)))
    miner.owner("asia", "south").publish("asia", masked(**({"ids": range(60)} | south)))
    status = 422 if code == "domain-invalid" else 409
    assert_problem(create(analyst, **spec), status, code, words)
    assert analyst.get(JOBS)["items"] == []
