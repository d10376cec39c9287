"""Rules, trees and classifiers of several owners, against arithmetic on what went over the wire."""

import csv
import io
import itertools
import json
import math

import numpy as np
import pytest

from owner_agent.peer.protocol.messages import (
    SessionFile,
)
from owner_agent.peer.protocol.steps import PROPOSE
from owner_agent.release.ledger import Ledger
from pramana_core.errors import Forbidden, OptionError, UnknownCategory
from pramana_core.learn.learners import read_predictor

LABELS = {"A": ["no", "yes"], "B": ["low", "mid", "high"], "C": ["no", "yes"], "D": ["no", "yes"]}
RULES = {
    "kind": "association-rules", "variables": ["A", "B", "C", "D"], "minimum_support": 0.08,
    "minimum_confidence": 0.5,
}  # fmt: skip
TREE = {"kind": "decision-tree", "target": "D", "attributes": ["A", "B", "C"]}
PLAIN = {"significance": 1.0, "least_records": 0.0, "prune": False}
LINEAR = {
    "kind": "linear-classifier", "target": "D", "features": ["A", "B", "C"],
    "loss": "least-squares",
}  # fmt: skip
BAYES = {"kind": "bayes-classifier", "target": "D", "features": ["A", "B", "C"]}

FILES = {
    "association-rules": ["itemsets.csv", "itemsets.svg", "rules.csv", "rules.json", "rules.svg"],
    "decision-tree": ["tree.json", "tree.svg", "tree.txt"],
    "linear-classifier": ["linear.json", "weights.csv", "weights.svg"],
    "bayes-classifier": ["bayes.bif", "bayes.json", "bayes.svg", "bayes.txt"],
}


def run(world, task, **more):
    """Run a session of two owners; return north's files by name."""
    outcome = world.run(world.proposal(task, participants=["north", "south"], **more))
    assert sorted(path.name for path in outcome.folder.iterdir()) == FILES[task["kind"]]
    assert world.results("south") == world.results("east") == {}
    return outcome, {path.name: path.read_text() for path in outcome.folder.iterdir()}


def estimated(world, codes, names="ABCD"):
    """The estimated table: south's D is inverted, all else is as it is (C is not sensitive)."""
    sent = world.packages()["south", "north"]
    tilde = np.zeros([len(LABELS[name]) for name in names])
    np.add.at(tilde, tuple(sent[n] if n in "CD" else codes[n] for n in names), 1)
    moved = round(0.2 * 2**32) / 2**32
    inverse = np.linalg.inv(np.array([[1 - moved, moved], [moved, 1 - moved]]))
    return np.moveaxis(np.tensordot(tilde, inverse, (names.index("D"), 0)), -1, names.index("D"))


def support(table, names, itemset):
    """The share of the records that have all items, by summing cells."""
    cells = tuple(dict(itemset).get(name, slice(None)) for name in names)
    return float(table[cells].sum() / table.sum())


def frequent_by_hand(table, names, items, minimum):
    """Every itemset whose support and whose subsets' supports reach the minimum."""
    found = {}
    for size in range(1, len(names) + 1):
        for itemset in itertools.combinations(items, size):
            if len({name for name, _ in itemset}) < size:
                continue
            parts = itertools.combinations(itemset, size - 1) if size > 1 else ()
            if all(part in found for part in parts):
                share = support(table, names, itemset)
                if share >= minimum:
                    found[itemset] = share
    return found


def read_items(document, places):
    items = document["items"]
    return tuple(
        (items[p]["variable"], LABELS[items[p]["variable"]].index(items[p]["category"]))
        for p in places
    )


def assert_rules(document, table, names, items, task):
    """Itemsets and rules are those found by going through all of them."""
    minimum, least = task["minimum_support"], task["minimum_confidence"]
    found = frequent_by_hand(table, names, items, minimum)
    told = {read_items(document, i["items"]): i["support"] for i in document["itemsets"]}
    assert told.keys() == found.keys()
    for itemset, share in found.items():
        assert told[itemset] == pytest.approx(share, abs=1e-9)
    rules = {
        (part, tuple(i for i in itemset if i not in part)): share / found[part]
        for itemset, share in found.items()
        for size in range(1, len(itemset))
        for part in itertools.combinations(itemset, size)
    }
    wanted = {rule: confidence for rule, confidence in rules.items() if confidence >= least}
    told = {
        (read_items(document, r["antecedent"]), read_items(document, r["consequent"])): r
        for r in document["rules"]
    }
    assert told.keys() == wanted.keys()
    assert 0 < len(wanted) < len(rules)
    for (antecedent, consequent), confidence in wanted.items():
        rule = told[antecedent, consequent]
        assert rule["confidence"] == pytest.approx(confidence, abs=1e-9)
        lift = confidence / support(table, names, consequent)
        assert rule["lift"] == pytest.approx(lift, abs=1e-9)


def gain(table):
    """The mutual information of the two axes, from its definition."""
    share = table / table.sum()
    chance = np.outer(share.sum(axis=1), share.sum(axis=0))
    return sum(p * math.log2(p / q) for p, q in zip(share.ravel(), chance.ravel(), strict=True))


def assert_tree(document, table, names, target, depth=None):
    """Every node has the counts of its cells, and the root asks what tells most."""
    last = names.index(target)
    gains = {
        name: gain(table.sum(axis=tuple(i for i, n in enumerate(names) if n not in (name, target))))
        for name in names
        if name != target
    }
    nodes = document["nodes"]
    assert nodes[0]["split"]["attribute"] == max(gains, key=gains.get)
    visited = []

    def visit(number, path):
        visited.append(path)
        cells = tuple(path.get(name, slice(None)) for name in names)
        left = [n for n in names if n not in path]
        own = np.moveaxis(table[cells], left.index(target), -1)
        counts = own.reshape(-1, table.shape[last]).sum(axis=0)
        assert nodes[number]["classes"]["counts"] == pytest.approx(counts, abs=1e-7)
        assert depth is None or len(path) <= depth
        attribute = nodes[number].get("split", {}).get("attribute")
        for code, child in enumerate(nodes[number].get("children", ())):
            visit(child, {**path, attribute: code})

    visit(0, {})
    assert len(visited) == len(nodes) > 2


def assert_least_squares(document, table, names, target, *, noisy=False):
    """The weights solve the normal equations of all cells, each weighted by its count.

    Of noisy counts they are then corrected for bias, by a small part of their errors.
    """
    rows, wanted, weights = [], [], []
    for cell in np.ndindex(*table.shape):
        of = dict(zip(names, cell, strict=True))
        columns = [1.0]
        for name in names:
            if name != target:
                columns += [float(of[name] == code) for code in range(1, len(LABELS[name]))]
        rows.append(columns)
        wanted.append(2.0 * of[target] - 1)
        weights.append(table[cell])
    x, y, w = np.array(rows), np.array(wanted), np.array(weights)
    expected = np.linalg.solve(x.T @ (w[:, None] * x), x.T @ (w * y))
    (plane,) = document["planes"]
    found = np.array([v["estimate"] for v in plane["weights"]])
    errors = np.array([v["se_records"] for v in plane["weights"]])
    assert (errors > 0).all()
    assert (np.abs(found - expected) <= (errors / 5 if noisy else 1e-8)).all()


# Other variables of the same records --------------------------------------------------------------


@pytest.mark.slow
def test_rules_are_those_of_the_estimated_table(world, codes):
    _, files = run(world, RULES)
    items = [(name, code) for name in "ABCD" for code in range(len(LABELS[name]))]
    document = json.loads(files["rules.json"])
    assert_rules(document, estimated(world, codes), "ABCD", items, RULES)
    rows = list(csv.DictReader(io.StringIO(files["rules.csv"])))
    assert len(rows) == len(document["rules"])
    assert len(files["itemsets.csv"].splitlines()) == len(document["itemsets"]) + 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("more", "items"),
    [
        ({"present": "yes"}, [("A", 1), ("C", 1), ("D", 1)]),
        ({"items": {"B": ["high"], "D": ["yes"]}},
         [("A", 0), ("A", 1), ("B", 2), ("C", 0), ("C", 1), ("D", 1)]),
    ],
)  # fmt: skip
def test_rules_of_some_items(world, codes, more, items):
    task = {**RULES, **more, "minimum_support": 0.03}
    _, files = run(world, task)
    table = estimated(world, codes)
    assert_rules(json.loads(files["rules.json"]), table, "ABCD", items, task)


@pytest.mark.slow
def test_a_tree_is_grown_from_the_estimated_table(world, codes):
    _, files = run(world, {**TREE, **PLAIN})
    document = json.loads(files["tree.json"])
    assert_tree(document, estimated(world, codes), "ABCD", "D")
    # A tested and pruned one is another; it predicts all cells.
    _, tested = run(world, TREE, session="cd" * 16)
    assert len(json.loads(tested["tree.json"])["nodes"]) < len(document["nodes"])
    cells = np.indices((2, 3, 2)).reshape(3, -1).astype(np.uint8)
    predicted = read_predictor(tested["tree.json"]).predict(dict(zip("ABC", cells, strict=True)))
    # D is more probable than not with C, and less without: by 0.2 or more.
    assert np.array_equal(predicted, cells[2])


def test_a_classifier_is_fitted_to_the_estimated_table(world, codes):
    _, files = run(world, LINEAR)
    document = json.loads(files["linear.json"])
    assert_least_squares(document, estimated(world, codes), "ABCD", "D")
    rows = list(csv.DictReader(io.StringIO(files["weights.csv"])))
    told = [[w["estimate"], w["se"], *w["interval"]] for w in document["planes"][0]["weights"]]
    written = [[float(row[n]) for n in ("weight", "se_population", "low", "high")] for row in rows]
    assert written == told


@pytest.mark.slow
@pytest.mark.parametrize("model", ["naive-bayes", "tan"])
def test_a_bayesian_classifier_has_the_estimated_shares(world, codes, model):
    _, files = run(world, {**BAYES, "model": model})
    document = json.loads(files["bayes.json"])
    table = estimated(world, codes)
    whole = table.sum(axis=(0, 1, 2))
    assert document["prior"]["estimate"] == pytest.approx(whole / whole.sum())
    for axis, attribute in enumerate(document["attributes"]):
        if attribute["parents"]:
            continue
        pair = np.moveaxis(table, 3, 0).sum(axis=tuple(1 + a for a in range(3) if a != axis))
        wanted = pair / pair.sum(axis=1, keepdims=True)
        assert np.array(attribute["estimate"]) == pytest.approx(wanted)
    assert read_predictor(files["bayes.json"]).model == model


@pytest.mark.slow
@pytest.mark.parametrize("loss", ["logistic", "perceptron"])
def test_other_losses_predict_alike(world, loss):
    _, files = run(world, {**LINEAR, "loss": loss, "seed": 3})
    predictor = read_predictor(files["linear.json"])
    cells = np.indices((2, 3, 2)).reshape(3, -1).astype(np.uint8)
    assert np.array_equal(predictor.predict(dict(zip("ABC", cells, strict=True))), cells[2])


@pytest.mark.slow
@pytest.mark.parametrize("task", [RULES, TREE, LINEAR], ids=lambda task: task["kind"])
def test_only_what_is_needed_leaves_and_it_is_in_the_ledger(world, task):
    names = {"variables": ["A", "D"]} if task is RULES else {}
    names |= {"attributes": ["A"]} if task is TREE else {}
    names |= {"features": ["A"]} if task is LINEAR else {}
    run(world, {**task, **names, "minimum_confidence": 0.1} if task is RULES else {**task, **names})
    assert {pair: list(columns) for pair, columns in world.packages().items()} == {
        ("south", "north"): ["D"]
    }
    entries = Ledger(world.folder("south") / ".pramana").entries()
    (line,) = [entry for entry in entries if entry.draws]
    assert (line.miner, line.state) == ("peer:north", "sealed")
    assert [(draw.variable, draw.randomized) for draw in line.draws] == [("D", True)]
    assert not [e for e in Ledger(world.folder("north") / ".pramana").entries() if e.draws]
    assert world.participants["south"].session.phase == "finished"


# What is refused, and when ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("task", "match"),
    [
        ({**RULES, "variables": ["A", "D", "A"]}, "variables name a variable twice"),
        ({**RULES, "items": {"D": ["yes", "yes"]}}, "items.D name"),
        ({**RULES, "items": {"E": ["yes"]}}, r"items of \['E'\]"),
        ({**RULES, "items": {"D": ["yes"]}, "present": "yes"}, "items or present"),
        ({**TREE, "attributes": ["A", "D"]}, "target and attributes name"),
        ({**LINEAR, "features": ["D"]}, "target and features name"),
        ({**LINEAR, "loss": "perceptron", "l2": 0.5}, "l2 has no effect"),
    ],
)
def test_a_task_that_contradicts_itself_is_refused(world, task, match):
    with pytest.raises(OptionError, match=match):
        world.participants["north"].partners("south").ask(PROPOSE, "ab" * 16, world.proposal(task))
    assert world.participants["south"].session is None


@pytest.mark.parametrize("more", [{"items": {"D": ["often"]}}, {"present": "often"}])
def test_a_category_that_is_none_ends_it_before_anything_leaves(world, ended, more):
    error = ended(
        UnknownCategory, "no category 'often'|has a category 'often'", ("north", "south"),
        {**RULES, **more}, participants=["north", "south"],
    )  # fmt: skip
    assert error.exit_code == 2
    assert not [sent for sent in world.wire.sent if "/parts/" in sent.line]
    assert not [e for e in Ledger(world.folder("south") / ".pramana").entries() if e.draws]


def test_an_owner_that_agreed_to_one_tree_takes_part_in_no_other(world):
    south = world.participants["south"]
    south.only = SessionFile.model_validate({"participants": ["north"], "task": TREE})
    run(world, TREE)
    for task in ({**TREE, "max_depth": 1}, LINEAR, RULES):
        other = world.proposal(task, participants=["north", "south"], session="cd" * 16)
        with pytest.raises(Forbidden, match="agreed to another session"):
            world.participants["north"].partners("south").ask(PROPOSE, other.session, other)
