"""Who needs what, against examples worked by hand (Ma 5.2.1, definitions 1 and 2; 5.2.2)."""

import inspect
import itertools
from typing import get_type_hints

import numpy as np
import pytest

from owner_agent.peer.exchange.incoming import counted_names
from owner_agent.peer.exchange.outgoing import share_of
from owner_agent.peer.participant import Participant
from owner_agent.peer.protocol.messages import Proposal
from owner_agent.peer.protocol.steps import STEPS
from owner_agent.peer.session import Session
from pramana_core.channels import (
    Choice,
    CutAndPaste,
    Dense,
    Identity,
    Mixture,
    Product,
    RandomSymmetric,
    Sampled,
    Symmetric,
)
from pramana_core.domain import Variable
from pramana_core.plan import Block, Plan
from tests.places import ROOT

# clinic: A S, laboratory: T L, registry: E D.
STRUCTURE = {"A": [], "S": [], "T": ["A"], "L": ["S", "T"], "E": ["T", "L"], "D": ["E", "S"]}
HOLDINGS = {"clinic": ("A", "S"), "laboratory": ("T", "L"), "registry": ("E", "D")}


def proposal(task):
    return Proposal.model_validate({
        "session": "0" * 32, "study": "s", "initiator": "clinic", "participants": list(HOLDINGS),
        "seconds": 5, "task": task,
    })  # fmt: skip


TASKS = {
    "parameters": {"kind": "parameters", "structure": STRUCTURE},
    "structure": {"kind": "structure", "order": ["S", "E", "A", "T", "D", "L"]},
}


@pytest.mark.parametrize(
    ("task", "sender", "receiver", "expected"),
    [
        ("parameters", "clinic", "laboratory", ("A", "S")),
        ("parameters", "clinic", "registry", ("S",)),
        ("parameters", "laboratory", "clinic", ()),
        ("parameters", "laboratory", "registry", ("T", "L")),
        ("parameters", "registry", "clinic", ()),
        ("parameters", "registry", "laboratory", ()),
        # T is a parent of the laboratory's own L: nobody sends it to itself.
        ("parameters", "laboratory", "laboratory", ()),
        # The order is S E A T D L; the last of the clinic is A, of the laboratory L, of the
        # registry D.
        ("structure", "clinic", "laboratory", ("A", "S")),
        ("structure", "clinic", "registry", ("A", "S")),
        ("structure", "laboratory", "clinic", ()),
        ("structure", "laboratory", "registry", ("T",)),
        ("structure", "registry", "clinic", ("E",)),
        ("structure", "registry", "laboratory", ("E", "D")),
        ("structure", "clinic", "clinic", ()),
    ],
)
def test_what_each_task_entitles_to(task, sender, receiver, expected):
    assert proposal(TASKS[task]).entitled(HOLDINGS, sender, receiver) == expected


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


SIZES = (2, 3, 2)
ONE = Dense.binary(0.1, 0.25)
PAIR = Choice((0, 1), 1 << 30, Symmetric.from_gamma(6, 4.0))
JOINT = {
    "symmetric": Symmetric.from_gamma(12, 5.0),
    "mixture": Mixture.from_gamma(12, 5.3),
    "cut-and-paste": CutAndPaste.from_probability(SIZES, 1, 0.3),
    "product": Product((2, 1), (Mixture.from_gamma(6, 3.0), ONE)),
    "sampled": Sampled(SIZES, (PAIR, Choice((2,), 3 << 29, ONE))),
    "random": RandomSymmetric.around_gamma(12, 5.0, 0.5),
    "dense": Dense.from_probabilities(np.random.default_rng(2).dirichlet(np.ones(12), 12)),
}


@pytest.mark.parametrize("name", JOINT)
def test_what_a_peer_gets_follows_from_what_is_announced(name):
    """The sender cuts its share from its block, the receiver from the part that all hear of."""
    variables = [Variable(n, tuple(map(str, range(k)))) for n, k in zip("xyz", SIZES, strict=True)]
    plan = Plan((Block(tuple(variables), JOINT[name]), Block((Variable("w", ("0", "1")),), ONE)))
    subsets = [c for n in (1, 2, 3) for c in itertools.combinations("xyzw", n)]
    for peers in itertools.combinations(subsets, 2):
        shares = [share_of(plan, names).plan for names in peers]
        announced = share_of(plan, [n for share in shares for n in share.domain.names]).plan
        for names, share in zip(peers, shares, strict=True):
            assert share_of(announced, names).plan == share


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.name)
def test_the_participant_takes_and_answers_what_the_table_says(step):
    method = getattr(Participant, step.name)
    hints = get_type_hints(method)
    taken = [hints[name] for name in list(inspect.signature(method).parameters)[1:]]
    about = [str, str] if step.phase is None else [Session]
    assert taken == about + ([] if step.request is None else [step.request])
    assert hints["return"] is step.answer


def test_no_two_steps_have_one_request_and_all_are_documented():
    requests = {f"`{step.method} {step.path}`".replace("{session}", "{id}") for step in STEPS}
    assert len(requests) == len(STEPS)
    page = (ROOT / "docs" / "peers.md").read_text()
    assert [request for request in requests if f"| {request} |" not in page] == []
