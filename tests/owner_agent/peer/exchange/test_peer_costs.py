"""What the columns sent in a session tell: stated by each owner, added up by all."""

import math

import pytest

from owner_agent.cli.sessions_shown import outcome_json

A, B, D = math.log(7.5), math.log(2 * 0.7 / 0.3), math.log(4)
"""The channels' epsilons, by Ma 3.1.2. B goes to two peers, in one draw."""


@pytest.mark.slow
def test_all_are_told_per_column_per_owner_and_per_record(world, parameters_task):
    outcome = world.run(world.proposal(parameters_task))
    told = outcome_json(outcome)["privacy"]
    columns = {(c["owner"], c["variable"]): c["amplification"]["epsilon"] for c in told["columns"]}
    assert columns == pytest.approx({("north", "A"): A, ("north", "B"): B, ("south", "D"): D})
    owners = {owner: e["determined"]["epsilon"] for owner, e in told["owners"].items()}
    assert owners == pytest.approx({"north": A + B, "south": D})
    assert told["record"]["determined"]["epsilon"] == pytest.approx(A + B + D)
    assert told["record"]["independent"]["epsilon"] == pytest.approx(A)
    assert f"{told['record']['determined']['grows_to']:.1%}" == "88.1%"
    for lines in world.told.values():
        text = "\n".join(lines)
        assert (
            "A epsilon 2.015 (5 % grows to 28.3 %), B epsilon 1.54 (5 % grows to 19.7 %);" in text
        )
        assert (
            "All owners: epsilon 4.942 (5 % grows to 88.1 %) if each column determines the others,"
            " and epsilon 2.015 (5 % grows to 28.3 %) if columns are independent." in text
        )
        # It is said before the first column leaves, which the result tells of.
        said = [n for n, line in enumerate(lines) if "All owners" in line]
        done = [n for n, line in enumerate(lines) if "the result is in" in line]
        assert said < done


def test_a_column_sent_as_it_is_has_no_bound_and_is_in_no_sum(world):
    task = {"kind": "parameters", "structure": {"A": [], "C": [], "D": [], "E": ["C", "D"]}}
    told = outcome_json(world.run(world.proposal(task)))["privacy"]
    assert [c["variable"] for c in told["columns"] if c["amplification"] is None] == ["C"]
    assert told["record"]["determined"]["epsilon"] == pytest.approx(D)
    assert any("C unchanged, D epsilon 1.386" in line for line in world.told["north"])


@pytest.mark.slow
def test_columns_that_are_not_randomized_are_stated_one_by_one(empty_world, make_site, make_codes):
    """Two of one owner for one peer, told apart though neither has a draw."""
    codes = make_codes(records=400)
    sensitive = '{ kind = "symmetric", p = 0.2 }'
    sites = {"north": {"A": None, "B": None}, "south": {"D": sensitive}, "east": {"E": None}}
    for owner, variables in sites.items():
        own = {name: codes[name] for name in variables}
        empty_world.add(owner, make_site(owner, variables), own)
    empty_world.open()
    task = {"kind": "parameters", "structure": {"A": [], "B": [], "D": ["A", "B"], "E": []}}
    told = outcome_json(empty_world.run(empty_world.proposal(task)))["privacy"]
    assert [(c["variable"], c["amplification"]) for c in told["columns"]] == [
        ("A", None),
        ("B", None),
    ]
