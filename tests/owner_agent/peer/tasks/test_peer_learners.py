"""Rules, trees and classifiers of several owners, against arithmetic on what went over the wire."""

import csv
import io
import itertools
import json

import numpy as np
import pytest

from owner_agent.peer.protocol.session_file import SessionFile
from owner_agent.peer.protocol.steps import PROPOSE
from owner_agent.release.ledger import Ledger
from pramana_core.errors import Forbidden, OptionError, UnknownCategory

LABELS = {"A": ["no", "yes"], "B": ["low", "mid", "high"], "C": ["no", "yes"], "D": ["no", "yes"]}
RULES = {
    "kind": "association-rules", "variables": ["A", "B", "C", "D"], "minimum_support": 0.08,
    "minimum_confidence": 0.5,
}  # fmt: skip
TREE = {"kind": "decision-tree", "target": "D", "attributes": ["A", "B", "C"]}
LINEAR = {
    "kind": "linear-classifier", "target": "D", "features": ["A", "B", "C"],
    "loss": "least-squares",
}  # fmt: skip

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
