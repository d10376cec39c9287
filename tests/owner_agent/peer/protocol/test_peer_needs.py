"""Who needs what, against examples worked by hand (Ma 5.2.1, definitions 1 and 2; 5.2.2)."""

import pytest

from owner_agent.peer.exchange.catalogue import entitled
from owner_agent.peer.exchange.entitlement import (
    cross_parents,
    cross_variables,
    owner_of,
    preceding,
    require_held,
)
from owner_agent.peer.exchange.incoming import counted_names
from owner_agent.peer.exchange.outgoing import share_of
from owner_agent.peer.protocol.messages import Proposal
from pramana_core.channels import Dense, Identity, Symmetric
from pramana_core.domain import Variable
from pramana_core.errors import StructureError, VariablesMissing
from pramana_core.learn.networks.structure import Structure
from pramana_core.plan import Block, Plan

# clinic: A S, laboratory: T L, registry: E D.
STRUCTURE = {"A": [], "S": [], "T": ["A"], "L": ["S", "T"], "E": ["T", "L"], "D": ["E", "S"]}
HOLDINGS = {"clinic": ("A", "S"), "laboratory": ("T", "L"), "registry": ("E", "D")}


def test_cross_variables_have_a_parent_elsewhere():
    # A and S have no parents; T and L have a parent at the clinic; E has two at the laboratory;
    # D has one at home and one at the clinic.
    assert cross_variables(Structure.of(STRUCTURE), HOLDINGS) == ("T", "L", "E", "D")
    local = {"A": [], "S": ["A"], "T": [], "L": ["T"], "E": [], "D": ["E"]}
    assert cross_variables(Structure.of(local), HOLDINGS) == ()


@pytest.mark.parametrize(
    ("sender", "receiver", "expected"),
    [
        ("clinic", "laboratory", ("A", "S")),
        ("clinic", "registry", ("S",)),
        ("laboratory", "clinic", ()),
        ("laboratory", "registry", ("T", "L")),
        ("registry", "clinic", ()),
        ("registry", "laboratory", ()),
        # T is a parent of the laboratory's own L, and E of the registry's D: nobody is sent those.
        ("laboratory", "laboratory", ()),
    ],
)
def test_cross_parents_go_to_who_has_their_children(sender, receiver, expected):
    assert cross_parents(Structure.of(STRUCTURE), HOLDINGS, sender, receiver) == expected


@pytest.mark.parametrize(
    ("sender", "receiver", "expected"),
    [
        # The order is S E A T D L; the last of the clinic is A, of the laboratory L, of the
        # registry D.
        ("clinic", "laboratory", ("A", "S")),
        ("clinic", "registry", ("A", "S")),
        ("laboratory", "clinic", ()),
        ("laboratory", "registry", ("T",)),
        ("registry", "clinic", ("E",)),
        ("registry", "laboratory", ("E", "D")),
        ("clinic", "clinic", ()),
    ],
)
def test_only_what_precedes_is_asked_for_a_structure(sender, receiver, expected):
    order = ["S", "E", "A", "T", "D", "L"]
    assert preceding(order, HOLDINGS, sender, receiver) == expected


def test_a_variable_has_one_owner():
    with pytest.raises(StructureError, match="Both clinic and registry"):
        owner_of({"clinic": ("A",), "registry": ("D", "A")})
    with pytest.raises(VariablesMissing, match=r"\['Q'\]"):
        require_held(["A", "Q"], HOLDINGS)


def proposal(task):
    return Proposal.model_validate({
        "session": "0" * 32, "study": "s", "initiator": "clinic", "participants": list(HOLDINGS),
        "seconds": 5, "task": task,
    })  # fmt: skip


TASKS = {
    "parameters": {"kind": "parameters", "structure": STRUCTURE},
    "structure": {"kind": "structure", "order": ["S", "E", "A", "T", "D", "L"]},
    "table": {"kind": "contingency-table", "variables": ["A", "L", "D"]},
    "rules": {"kind": "association-rules", "variables": ["A", "L", "D"], "minimum_support": 0.1},
    "tree": {"kind": "decision-tree", "target": "L", "attributes": ["A", "D"]},
    "linear": {"kind": "linear-classifier", "target": "D", "features": ["S", "T"]},
    "bayes": {"kind": "bayes-classifier", "target": "D", "features": ["S", "T"]},
}


@pytest.mark.parametrize(
    ("task", "sender", "receiver", "expected"),
    [
        ("parameters", "clinic", "registry", ("S",)),
        ("structure", "registry", "clinic", ("E",)),
        ("table", "laboratory", "clinic", ("L",)),
        ("table", "clinic", "laboratory", ()),
        ("table", "registry", "laboratory", ()),
        ("rules", "laboratory", "clinic", ("L",)),
        ("rules", "registry", "laboratory", ()),
        ("tree", "laboratory", "clinic", ("L",)),
        ("tree", "clinic", "registry", ()),
        ("linear", "laboratory", "clinic", ("T",)),
        ("linear", "laboratory", "registry", ()),
        ("bayes", "laboratory", "clinic", ("T",)),
        ("bayes", "laboratory", "registry", ()),
    ],
)
def test_what_each_task_entitles_to(task, sender, receiver, expected):
    assert entitled(proposal(TASKS[task]), HOLDINGS, sender, receiver) == expected


X, Y, Z = (Variable(name, ("0", "1")) for name in "xyz")
HALF = 1 << 31
ODD = Dense(
    (
        (HALF, HALF, 0, 0),
        (0, HALF, HALF, 0),
        (0, 0, HALF, HALF),
        (HALF // 2, HALF // 2, 0, HALF),
    )
)
"""A matrix under which the report on x depends on y: it cannot be restricted to x."""


def test_a_share_is_a_margin_where_there_is_one_and_else_the_block():
    symmetric = Plan((Block((X, Y), Symmetric(4, 1 << 29)), Block((Z,), Identity(2))))
    share = share_of(symmetric, ["y", "z"])
    assert share.plan.domain.names == ("y", "z")
    assert share.drawn == symmetric.blocks
    # The margin of a symmetric block moves to the other value by two of its three other cells.
    assert share.sent[0].channel.matrix()[0].tolist() == [0.75, 0.25]
    whole = Plan((Block((X, Y), ODD), Block((Z,), Identity(2))))
    assert share_of(whole, ["y"]).plan.domain.names == ("x", "y")
    assert share_of(whole, ["q"]) is None


def test_counts_are_over_what_can_be_inverted():
    whole = Plan((Block((X, Y), ODD), Block((Z,), Identity(2))))
    assert counted_names(whole, ("z", "y")) == ("x", "y", "z")
    symmetric = Plan((Block((X, Y), Symmetric(4, 1 << 29)), Block((Z,), Identity(2))))
    assert counted_names(symmetric, ("z", "y")) == ("y", "z")
