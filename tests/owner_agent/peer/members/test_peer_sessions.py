"""Sessions of three owners from end to end, in one process: what is learned, and what leaves."""

import json
import math

import numpy as np
import pytest

from owner_agent.cli.sessions_shown import outcome_json
from owner_agent.release.ledger import Ledger
from pramana_core.errors import PlanConflict, VariablesMissing
from pramana_core.learn.networks.documents import network_of_json


def matrix(*moves):
    """A matrix of moves off the diagonal, published as multiples of 2^-32; the rest stays."""
    moved = np.round(np.array(moves) * 2.0**32) / 2.0**32
    return moved + np.diag(1 - moved.sum(axis=1))


P = {
    "A": matrix([0, 0.1], [0.25, 0]),
    "B": matrix([0, 0.15, 0.15], [0.15, 0, 0.15], [0.15, 0.15, 0]),
    "D": matrix([0, 0.2], [0.2, 0]),
    "C": np.eye(2),
}
"""The owners' matrices, written down again."""


def test_three_owners_end_with_the_same_network(world, parameters_task):
    outcome = world.run(world.proposal(parameters_task))
    files = [world.results(owner) for owner in world.told]
    assert sorted(files[0]) == [f"{outcome.session}/network.{x}" for x in ("bif", "json", "svg")]
    assert files[0] == files[1] == files[2]
    assert outcome.unconfirmed == ()
    text = files[0][f"{outcome.session}/network.json"].decode()
    network = json.loads(text)
    assert {n["name"]: n["parents"] for n in network["nodes"]} == parameters_task["structure"]
    assert [p["variables"] for p in network["participants"]] == [["A", "B"], ["C", "D"], ["E"]]
    assert network_of_json(json.loads(text)).network.structure.parents["E"] == ("D", "B")
    assert outcome_json(outcome)["files"] == ["network.bif", "network.json", "network.svg"]
    for owner in world.told:
        assert any("the result is in" in line for line in world.told[owner])


def found_parameters(world):
    (text,) = [v for k, v in world.results("north").items() if k.endswith(".json")]
    return {
        (p["node"], p["value"], *p["parents"].values()): p for p in json.loads(text)["parameters"]
    }


LABELS = {"B": ["low", "mid", "high"]}


def labels(name):
    return LABELS.get(name, ["no", "yes"])


@pytest.mark.slow
def test_parameters_are_those_of_the_formulas(world, parameters_task, codes):
    """N^ = (P')^-1 N~ with the cross parents randomized alone, theta = N^_ijk / N^_ij.

    Ma 5.2.1 and theorem 5.2, with the Kronecker product and the columns that went over the wire.
    """
    world.run(world.proposal(parameters_task))
    seen = {owner: {} for owner in world.told}
    for (_, receiver), columns in world.packages().items():
        seen[receiver] |= columns
    own = {"north": "AB", "south": "CD", "east": "E"}
    found = found_parameters(world)
    checked = 0
    for node, parents in parameters_task["structure"].items():
        owner = next(o for o, names in own.items() if node in names)
        family = [*parents, node]
        reported = [codes[n] if n in own[owner] else seen[owner][n] for n in family]
        shape = [len(labels(n)) for n in family]
        tilde = np.zeros(shape)
        np.add.at(tilde, tuple(reported), 1)
        whole = np.ones((1, 1))
        for name in family:
            exact = np.eye(len(labels(name)))
            whole = np.kron(whole, exact if name in own[owner] else P[name])
        hat = np.linalg.solve(whole.T, tilde.ravel()).reshape(shape)
        theta = hat / hat.sum(axis=-1, keepdims=True)
        for cell in np.ndindex(*shape):
            key = (node, labels(node)[cell[-1]])
            key += tuple(labels(p)[i] for p, i in zip(parents, cell, strict=False))
            assert found[key]["estimate"] == pytest.approx(theta[cell], abs=1e-12, rel=1e-12)
            checked += 1
    assert checked == len(found) == 2 + 6 + 12 + 4 + 12


@pytest.mark.slow
def test_only_cross_parents_leave_and_sensitive_ones_randomized(world, parameters_task, codes):
    world.run(world.proposal(parameters_task))
    sent = world.packages()
    assert {pair: sorted(columns) for pair, columns in sent.items()} == {
        ("north", "south"): ["A", "B"],
        ("north", "east"): ["B"],
        ("south", "east"): ["D"],
    }
    # Chance of a report that is not the truth: at least 0.1 of 2000 records; none at all has a
    # probability below 1e-90.
    for columns in sent.values():
        for name, reports in columns.items():
            assert (reports != codes[name]).any()
    # One randomization of each value, whoever asks.
    assert np.array_equal(sent["north", "south"]["B"], sent["north", "east"]["B"])


def test_a_column_that_is_not_sensitive_goes_as_it_is(world, codes):
    # C is a parent of E at another owner, and not sensitive.
    structure = {"A": [], "B": [], "C": [], "D": [], "E": ["C", "D"]}
    world.run(world.proposal({"kind": "parameters", "structure": structure}))
    sent = world.packages()
    assert list(sent) == [("south", "east")]
    assert np.array_equal(sent["south", "east"]["C"], codes["C"])
    assert not np.array_equal(sent["south", "east"]["D"], codes["D"])


@pytest.mark.slow
def test_the_ledger_has_everything_before_it_leaves(world, parameters_task):
    """Looked at from inside each answer: the line is there, although the bytes have not left."""
    looked = []

    def look(receiver, request, response):
        if "/parts/" in request.url.path:
            to = request.headers["tls-caller"]
            entries = Ledger(world.folder(receiver) / ".pramana").entries()
            looked.append([e for e in entries if e.miner == f"peer:{to}"])
        return response

    world.wire.bend_answer = look
    world.run(world.proposal(parameters_task))
    assert [[e.state for e in entries] for entries in looked] == [["sending"]] * 3


def ledger(world, owner):
    return Ledger(world.folder(owner) / ".pramana").entries()


@pytest.mark.slow
def test_the_ledger_says_what_left_for_whom_at_what_loss(world, parameters_task):
    world.run(world.proposal(parameters_task))
    lines = {e.miner: e for e in ledger(world, "north")}
    assert set(lines) == {"peer:south", "peer:east", "peer:south,east"}
    assert all(e.state == "sealed" for e in lines.values())
    loss = {d.column: d.epsilon for d in lines["peer:south"].draws}
    # The most a report can speak for one value against another: 0.75 / 0.1, and 0.7 / 0.15.
    assert loss == {
        "A": pytest.approx(math.log(7.5), abs=1e-6),
        "B": pytest.approx(math.log(0.7 / 0.15), abs=1e-6),
    }
    assert [d.column for d in lines["peer:east"].draws] == ["B"]
    assert lines["peer:south,east"].draws == ()
    assert [e.miner for e in ledger(world, "east")] == ["peer:north,south"]


@pytest.mark.slow
def test_a_second_session_sends_the_same_bytes_and_costs_nothing(world, parameters_task):
    world.run(world.proposal(parameters_task))
    first = world.packages()
    world.wire.sent.clear()
    world.run(world.proposal(parameters_task, session="cd" * 16))
    second = world.packages()
    assert first.keys() == second.keys()
    for pair in first:
        for name in first[pair]:
            assert np.array_equal(first[pair][name], second[pair][name])
    assert sum(e.miner == "peer:south" for e in ledger(world, "north")) == 1


@pytest.mark.slow
@pytest.mark.parametrize("accept", [False, True])
def test_another_randomization_of_a_column_is_refused(closed_world, parameters_task, accept):
    closed_world.open()
    closed_world.run(closed_world.proposal(parameters_task))
    path = closed_world.folder("north") / "site.toml"
    path.write_text(path.read_text().replace("p = 0.3", "p = 0.5"))
    # To the others, other reports are another grouping of their records.
    for owner in ("south", "east"):
        closed_world.decide(owner, "groupings = 2")
    closed_world.open(accept=("north",) if accept else ())
    again = closed_world.proposal(parameters_task, session="cd" * 16)
    if accept:
        closed_world.run(again)
        assert len(closed_world.results("east")) == 6
        return
    with pytest.raises(PlanConflict, match=r"^north cannot take part \(plan-conflict\)"):
        closed_world.run(again)
    # What left before, and at what loss, is said to north alone.
    assert "column 'B'" in str(closed_world.participants["north"].own_error)
    assert any("column 'B'" in line for line in closed_world.told["north"])
    assert not any("column 'B'" in line for line in closed_world.told["south"])
    assert all(len(closed_world.results(owner)) == 3 for owner in closed_world.told)


@pytest.mark.slow
def test_a_margin_of_a_joint_draw_is_sent(empty_world, make_site, codes):
    """A and B are one block; east gets the same reports of B as south does in the pair."""
    joint = '[[blocks]]\nvariables = ["A", "B"]\nchannel = { kind = "symmetric", p = 0.5 }\n'
    plain = {"north": {"A": None, "B": None}, "south": {"C": None, "D": None}, "east": {"E": None}}
    for owner, variables in plain.items():
        text = make_site(owner, variables)
        if owner == "north":
            text = text.replace("sensitive = false", "sensitive = true") + joint
        empty_world.add(owner, text, {n: codes[n] for n in variables})
    empty_world.open()
    structure = {"A": [], "B": [], "C": ["A", "B"], "D": [], "E": ["B"]}
    empty_world.run(empty_world.proposal({"kind": "parameters", "structure": structure}))
    sent = empty_world.packages()
    assert sorted(sent["north", "south"]) == ["A", "B"]
    assert list(sent["north", "east"]) == ["B"]
    assert np.array_equal(sent["north", "south"]["B"], sent["north", "east"]["B"])
    # Of six combinations a report is another with 0.5; of B it is another with 0.5 * 4 / 5.
    hat = np.zeros((3, 2))
    np.add.at(hat, (sent["north", "east"]["B"], codes["E"]), 1)
    theta = np.linalg.solve(np.where(np.eye(3), 0.6, 0.2).T, hat)
    theta /= theta.sum(axis=1, keepdims=True)
    found = found_parameters(empty_world)
    for b, label in enumerate(LABELS["B"]):
        assert found["E", "yes", label]["estimate"] == pytest.approx(theta[b, 1], abs=1e-9)


@pytest.mark.slow
def test_nobody_hears_of_a_variable_that_nobody_is_sent(empty_world, make_site, codes):
    """C and D are one block, and E needs D alone: the margin is announced, and C is not named."""
    joint = '[[blocks]]\nvariables = ["C", "D"]\nchannel = { kind = "symmetric", p = 0.5 }\n'
    sites = {"north": {"A": None, "B": None}, "south": {"C": None, "D": None}, "east": {"E": None}}
    for owner, variables in sites.items():
        text = make_site(owner, variables)
        if owner == "south":
            text = text.replace("sensitive = false", "sensitive = true") + joint
        empty_world.add(owner, text, {n: codes[n] for n in variables})
    empty_world.open()
    structure = {"A": [], "D": [], "E": ["D", "A"]}
    empty_world.run(empty_world.proposal({"kind": "parameters", "structure": structure}))
    assert list(empty_world.packages()["south", "east"]) == ["D"]
    (announced,) = {
        sent.answer for sent in empty_world.wire.sent
        if sent.receiver == "south" and sent.line.endswith("/offers")
    }  # fmt: skip
    said = json.loads(json.loads(announced)["content"])
    assert [[v["name"] for v in b["variables"]] for b in said["drawn"]["blocks"]] == [["D"]]
    assert not any(b'"C"' in sent.body + sent.answer for sent in empty_world.wire.sent)


# Structure ---------------------------------------------------------------------------------------

ORDER = ["A", "B", "C", "D", "E"]


@pytest.mark.slow
def test_a_structure_along_an_agreed_order(empty_world, make_site, make_codes):
    """At p = 0.1 and 20,000 records all links are found, by owners that see no others' truth.

    Each link changes a probability by 0.3 or more; the likelihood ratio of each is above 100 nats
    even after the noise, so that none is missed. B -> E changes it by 0.15 a step.
    """
    codes = make_codes(11, 20_000)
    sites = {
        "north": {"A": BINARY, "B": '{ kind = "symmetric", p = 0.1 }'},
        "south": {"C": BINARY, "D": BINARY},
        "east": {"E": BINARY},
    }
    for owner, variables in sites.items():
        own = {n: codes[n] for n in variables}
        empty_world.add(owner, make_site(owner, variables), own)
    empty_world.open()
    empty_world.run(empty_world.proposal({"kind": "structure", "order": ORDER, "draws": 20}))
    files = [empty_world.results(owner) for owner in sites]
    assert files[0] == files[1] == files[2]
    (text,) = [v for k, v in files[0].items() if k.endswith(".json")]
    network = json.loads(text)
    links = {(link["parent"], link["child"]) for link in network["links"]}
    assert links == {("A", "B"), ("A", "C"), ("B", "C"), ("C", "D"), ("D", "E"), ("B", "E")}
    assert all(0 <= link["confidence"] <= 1 and link["gain"] > 0 for link in network["links"])
    inflation = {(k["parent"], k["child"]): k["inflation"] for k in network["links"]}
    # A -> B stays at north, which knows both exactly; the others are judged by noise.
    assert inflation["A", "B"] == pytest.approx(1)
    assert inflation["D", "E"] > 1.1
    assert network["participants"][0]["variables"] == ["A", "B"]


BINARY = '{ kind = "binary", p1 = 0.1, p2 = 0.1 }'


def test_an_owner_without_any_of_the_variables_is_not_asked(world):
    with pytest.raises(VariablesMissing, match="east has none of the session's variables"):
        world.run(world.proposal({"kind": "structure", "order": ["A", "D"]}))
    assert world.nothing_anywhere()


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
            "A epsilon 2.015 (5 % grows to 28.31 %), B epsilon 1.541 (5 % grows to 19.72 %);"
            in text
        )
        assert (
            "All owners: epsilon 4.942 (5 % grows to 88.06 %) if each column determines the others,"
            " and epsilon 2.015 (5 % grows to 28.31 %) if columns are independent." in text
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
    assert any("C unchanged, D epsilon 1.387" in line for line in world.told["north"])


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
