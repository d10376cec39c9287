"""Trees as values: prediction, JSON, text and pictures."""

from __future__ import annotations

import dataclasses
import json
import re
import xml.etree.ElementTree as ET
from typing import Any

import numpy as np
import pytest

from pramana_core.channels import Symmetric
from pramana_core.domain import Domain, Variable
from pramana_core.errors import ChannelError, DomainError, InputError, UnknownVariable
from pramana_core.estimation.estimated import EstimatedMarginals
from pramana_core.learn.common.options import DEEPEST, TreeOptions
from pramana_core.learn.learners import TREE
from pramana_core.learn.tree import drawing
from pramana_core.learn.tree import model as modelling
from pramana_core.learn.tree.drawing import draw_tree
from pramana_core.learn.tree.growth import learn_tree
from pramana_core.learn.tree.model import DecisionTree
from pramana_core.learn.tree.node import Node, NodeClasses, Split
from pramana_core.learn.tree.text import write_tree_text
from pramana_core.marginals.counts import ReportedCounts
from pramana_core.plan import Block, Plan

SVG = "{http://www.w3.org/2000/svg}"
AGE = Variable("age & <height>", ("<30", "30-45", ">=45"), (21.5, 38.1, 60.0))
DOMAIN = Domain(
    (
        AGE,
        Variable("sex", ("f", "m")),
        Variable("zone", ("a", "b", "c", "d")),
        Variable("y", ("no", "yes, <often>", "ü")),
    )
)


def drawn(records: int, seed: int = 0) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    columns = {v.name: rng.integers(0, v.size, records).astype(np.uint8) for v in DOMAIN}
    lean = np.stack([columns[AGE.name], 2 * columns["sex"], (columns["zone"] > 1) * 3])
    columns["y"] = (lean + 1.5 * rng.gumbel(size=lean.shape)).argmax(axis=0).astype(np.uint8)
    return columns


def learned(p: float, **options: Any) -> DecisionTree:
    plan = Plan(tuple(Block((v,), Symmetric.from_probability(v.size, p)) for v in DOMAIN))
    reported = ReportedCounts(drawn(4000), {v.name: v.size for v in DOMAIN})
    return learn_tree(EstimatedMarginals(reported, plan), "y", None, TreeOptions(**options))


TREES = {
    "clean": learned(0.0, prune=False),
    "noisy": learned(0.2, significance=None, prune=False, least_records=0),
    "leaf": learned(0.2, max_depth=0, shrinkage=None),
}


@pytest.fixture(params=TREES.values(), ids=TREES.keys())
def tree(request: pytest.FixtureRequest) -> DecisionTree:
    return request.param


def averaged(node, record):
    """Return the probabilities of a record of which values are missing, question by question."""
    if node.split is None:
        return np.array(node.classes.probabilities)
    code = record[node.split.attribute]
    if code < len(node.children):
        return averaged(node.children[code], record)
    totals = np.maximum([child.classes.total for child in node.children], 0.0)
    shares = totals / totals.sum() if totals.sum() else np.full(len(totals), 1 / len(totals))
    return sum(
        share * averaged(child, record) for share, child in zip(shares, node.children, strict=True)
    )


def test_records_with_missing_values_go_to_all_children(tree, monkeypatch):
    monkeypatch.setattr(modelling, "_CHUNK", 64)
    columns = drawn(200)
    rng = np.random.default_rng(6)
    holes = {
        v.name: np.where(rng.random(200) < 0.4, v.size, columns[v.name]).astype(np.uint8)
        for v in tree.inputs
    }
    shares, decisions = tree.probabilities(holes), tree.predict(holes)
    for row in range(200):
        wanted = averaged(tree.root, {name: int(column[row]) for name, column in holes.items()})
        assert shares[row] == pytest.approx(wanted, abs=1e-12)
        assert shares[row][decisions[row]] == shares[row].max()
    first, *others = tree.inputs.names
    if others:
        absent = {name: columns[name] for name in others}
        marked = absent | {first: np.full(200, tree.inputs[first].size, dtype=np.uint8)}
        assert (tree.probabilities(absent) == tree.probabilities(marked)).all()


# What cannot be a tree.

SOME = (0.1, 0.2, 0.2), (0.5, 0.6, 0.6)
KNOWN = NodeClasses((3.0, 4.0, 5.0), (0.0,) * 3, (1.0,) * 3, *SOME, 12.0, 0.25, (0.25, 0.25, 0.5))
QUESTION = Split("sex", 0.1, 0.08, 0.01, 0.2, 0.02, 21.0, 2, 3, 0.01)
LEAF = Node(KNOWN)
ASKED = Node(KNOWN, QUESTION, (LEAF, LEAF))
LEAF_JSON = {"classes": dataclasses.asdict(KNOWN), "split": None, "children": []}


def tree_of(root: Node) -> DecisionTree:
    inputs = DOMAIN.project([AGE.name, "sex", "zone"])
    return DecisionTree(inputs, DOMAIN["y"], root, 12, TreeOptions())


@pytest.mark.parametrize("names", [(), ("sex", "y")])
def test_a_class_is_told_from_other_variables(names):
    with pytest.raises(DomainError):
        DecisionTree(DOMAIN.project(names), DOMAIN["y"], LEAF, 12, TreeOptions())


@pytest.mark.parametrize(
    ("root", "error"),
    [
        (Node(KNOWN, QUESTION, (LEAF,)), DomainError),
        (Node(KNOWN, None, (LEAF, LEAF)), DomainError),
        (Node(KNOWN, QUESTION, (LEAF, ASKED)), DomainError),
        (Node(KNOWN, dataclasses.replace(QUESTION, attribute="y"), (LEAF,) * 3), UnknownVariable),
        (Node(NodeClasses((1.0,), (0.0,), (0.0,), (0.0,), (1.0,), 1.0, 0.0, (1.0,))), DomainError),
    ],
)
def test_nodes_that_do_not_fit_are_refused(root, error):
    with pytest.raises(error):
        tree_of(root)


# JSON.


def broken(change) -> str:
    document = json.loads(TREE.write(TREES["clean"]))
    change(document)
    return json.dumps(document)


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (lambda d: d.update(root=[]), InputError),
        (lambda d: d["root"].pop("children"), DomainError),
        (lambda d: d["root"]["children"].reverse(), None),
        (lambda d: d["root"]["children"].append(d["root"]["children"][0]), DomainError),
        (lambda d: d["root"]["children"][0].update(split=d["root"]["split"]), DomainError),
        (lambda d: d["root"]["classes"].update(counts=[1.0, "2", 3.0]), InputError),
        (lambda d: d["root"]["classes"].update(counts=[1e400, 2.0, 3.0]), InputError),
        (lambda d: d["root"]["classes"].update(effective=-1.0), InputError),
        (lambda d: d["root"]["classes"].update(low=[0.1, 0.2]), DomainError),
        (lambda d: d["root"]["classes"].update(probabilities=[1.0, 1.0, 1.0]), ChannelError),
        (lambda d: d["root"]["split"].update(attribute="nothing"), UnknownVariable),
        (lambda d: d["root"]["split"].update(low=0.3, high=0.2), DomainError),
        (lambda d: d["root"]["split"].update(degrees=0), InputError),
        (lambda d: d["options"].update(least_records=-1), InputError),
        (lambda d: d["inputs"].append(d["inputs"][0]), DomainError),
    ],
)
def test_json_of_no_tree_is_refused(change, error):
    if error is None:
        assert TREE.read(broken(change)) != TREES["clean"]
        return
    with pytest.raises(error):
        TREE.read(broken(change))


def test_the_deepest_tree_is_read_back_and_a_deeper_document_is_refused():
    domain = Domain.of(**{f"x{i}": "ab" for i in range(DEEPEST)}, y="pqr")

    def chain(length: int) -> Node:
        node = LEAF
        for i in reversed(range(length)):
            split = dataclasses.replace(QUESTION, attribute=f"x{i}")
            node = Node(KNOWN, split, (LEAF, node))
        return node

    inputs = domain.project(domain.names[:-1])
    tree = DecisionTree(inputs, domain["y"], chain(DEEPEST), 12, TreeOptions())
    assert TREE.read(TREE.write(tree)) == tree
    document = TREE.document(tree)
    for _ in range(DEEPEST):
        document["root"] = {**document["root"], "children": [document["root"]] * 2}
        document["root"]["children"][1] = LEAF_JSON
    with pytest.raises(InputError):
        TREE.read(json.dumps(document))


# Text.


def test_rules_are_those_of_scikit_learn_where_both_can_say_them():
    from sklearn.tree import DecisionTreeClassifier, export_text

    rng = np.random.default_rng(3)
    names = list("abcde")
    columns = {n: (rng.random(600) < 0.45).astype(np.uint8) for n in names}
    lean = columns["a"] + 2.0 * columns["b"] * columns["c"] - columns["d"]
    columns["y"] = (lean + rng.normal(size=600) > 0.5).astype(np.uint8)
    domain = Domain(tuple(Variable(n, ("0", "1")) for n in (*names, "y")))
    reported = ReportedCounts(columns, {v.name: 2 for v in domain})
    marginals = EstimatedMarginals(reported, Plan.unrandomized(domain))
    options = TreeOptions(
        significance=None, least_records=0, prune=False, shrinkage=None, max_depth=3
    )
    tree = learn_tree(marginals, "y", None, options)
    peer = DecisionTreeClassifier(criterion="entropy", max_depth=3, random_state=0)
    peer.fit(np.stack([columns[n] for n in names], axis=1), columns["y"])
    theirs = export_text(peer, feature_names=names)
    ours = theirs.replace(" <= 0.50", " = 0").replace(" >  0.50", " = 1")
    assert write_tree_text(tree) == ours


# Pictures.


def words(picture: str) -> list[str]:
    return ["".join(text.itertext()) for text in ET.fromstring(picture).iter(f"{SVG}text")]


def test_a_picture_shows_every_question_category_and_leaf(tree, monkeypatch):
    monkeypatch.setattr(drawing, "ROWS", 10_000)
    monkeypatch.setattr(drawing, "WIDTH", 1e9)
    picture = draw_tree(tree).svg()
    said = words(picture)
    tree = dataclasses.replace(tree, root=drawing.distinct(tree.root))
    questions = [node for node in tree.root if node.split is not None]
    assert said.count("age & <height>") == sum(
        1 for node in questions if node.split.attribute == AGE.name
    )
    assert sum(" bits" in text for text in said) == len(questions)
    assert sum(text.startswith("worth ") for text in said) == len(tree.leaves)
    legend = 1
    assert said.count("ü") == legend
    decided = [text for text in said if re.fullmatch("ü [0-9]+ %", text)]
    assert len(decided) == sum(leaf.classes.decision == 2 for leaf in tree.leaves)
    edges = list(ET.fromstring(picture).iter(f"{SVG}path"))
    assert len(edges) == len(list(tree.root)) - 1


def test_leaves_of_one_class_are_shown_together():
    def leaf(*counts: float) -> Node:
        shares = tuple(count / sum(counts) for count in counts)
        ends = tuple(s - 0.05 for s in shares), tuple(s + 0.05 for s in shares)
        return Node(NodeClasses(counts, (1.0, 1.0), (2.0, 2.0), *ends, sum(counts), 0.0, shares))

    domain = Domain.of(a="pqrs", y=["no", "yes"])
    children = (leaf(30.0, 10.0), leaf(10.0, 30.0), leaf(54.0, 6.0), leaf(60.0, 40.0))
    split = dataclasses.replace(QUESTION, attribute="a")
    root = Node(leaf(154.0, 86.0).classes, split, children)
    tree = DecisionTree(domain.project(["a"]), domain["y"], root, 240, TreeOptions())
    assert write_tree_text(tree).splitlines() == [
        "|--- a = p, r, s",
        "|   |--- class: no",
        "|--- a = q",
        "|   |--- class: yes",
    ]
    assert write_tree_text(tree, show_weights=True).count("class:") == 4
    picture = draw_tree(tree).svg()
    said = words(picture)
    assert "p, r, s" in said
    # The mean of what decided each, by their records.
    assert {"no 72 %", "yes 75 %"} <= set(said)
    # Hovering has the counts of each with its own errors.
    assert picture.count("population ± 2") == 2 * (1 + 4)
    # Predictions keep what each of them says.
    assert tree.probabilities({"a": np.array([2])})[0] == pytest.approx((0.9, 0.1))


def test_of_a_large_tree_the_picture_shows_the_top(monkeypatch):
    monkeypatch.setattr(drawing, "ROWS", 3)
    said = words(draw_tree(TREES["clean"]).svg())
    assert sum("leaves left out" in text for text in said) > 0
    assert sum("leaves lie below" in text for text in said) == 1
