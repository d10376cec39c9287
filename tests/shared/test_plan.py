"""Plans: each variable once, canonical identity, and channels of parts of joint blocks."""

from __future__ import annotations

import hashlib
import json

import numpy as np
import pytest

from pramana_core.channels import (
    CutAndPaste,
    Dense,
    Grouped,
    Identity,
    Mixture,
    Symmetric,
    Withheld,
)
from pramana_core.domain import Domain
from pramana_core.errors import PlanError, UnknownVariable
from pramana_core.plan import Block, Plan
from pramana_core.wire.channels import PlanMessage

DOMAIN = Domain.of(a="xy", b="123", c="pq")
A, B, C = DOMAIN


def plan() -> Plan:
    return Plan((Block((A, B), Symmetric.from_gamma(6, 7.0)), Block((C,), Dense.binary(0.1, 0.25))))


def test_a_variable_in_two_blocks_is_refused():
    with pytest.raises(PlanError):
        Plan((Block((A,), Identity(2)), Block((A, B), Identity(6))))
    with pytest.raises(PlanError):
        Plan(())


def test_a_channel_that_does_not_fit_is_refused():
    with pytest.raises(PlanError):
        Block((A,), Identity(3))
    wide = Dense.from_probabilities(np.full((6, 7), 1 / 7).tolist())
    with pytest.raises(PlanError):
        Block((A, B), wide)


def test_the_digest_is_of_the_canonical_json():
    text = plan().canonical_json()
    assert hashlib.sha256(text).hexdigest() == plan().digest
    assert b" " not in text
    assert json.loads(text) == plan().as_dict()
    assert b"." not in text, "integers only: no machine prints them differently"


def test_the_digest_tells_plans_apart():
    other = Plan((Block((A, B), Symmetric.from_gamma(6, 7.0)), Block((C,), Dense.binary(0.1, 0.2))))
    renamed = Plan((Block((B, A), Symmetric.from_gamma(6, 7.0)), plan().blocks[1]))
    assert len({plan().digest, other.digest, renamed.digest}) == 3


def test_the_message_reads_what_the_plan_writes(families):
    domain = Domain.of(a="xy", b="123", c="1234", d="12345")
    by_size = {v.size: v for v in domain}
    for channel in families.values():
        made = Plan((Block((by_size[channel.shape[0]],), channel),))
        text = json.loads(made.canonical_json())
        assert PlanMessage.model_validate(text).to_plan() == made


def test_blocks_are_found_by_variable():
    assert plan().block_of("b").name == "a*b"
    assert plan().domain.names == ("a", "b", "c")
    assert plan().reported_sizes == {"a": 2, "b": 3, "c": 2}
    with pytest.raises(UnknownVariable):
        plan().block_of("z")


@pytest.mark.parametrize("names", [["a"], ["b"], ["a", "b"]])
@pytest.mark.parametrize(
    "channel",
    [
        Symmetric.from_probability(6, 0.4),
        Identity(6),
        Dense.from_probabilities(
            np.kron(
                [[0.875, 0.125], [0.25, 0.75]], [[0.5, 0.25, 0.25], [0, 1, 0], [0.125, 0, 0.875]]
            ).tolist()
        ),
    ],
)
def test_lumpable_channels_are_restricted_exactly(names: list[str], channel):
    """By definition: sum P over the reports of the dropped variable, for every dropped truth."""
    block = Block((A, B), channel)
    restricted = block.restrict(names)
    assert restricted is not None
    full = channel.units().reshape(2, 3, 2, 3)
    expected = {
        "a": full.sum(axis=3)[:, 0],
        "b": full.sum(axis=2)[0],
        "ab": full.reshape(6, 6),
    }["".join(names)]
    assert np.array_equal(restricted.units(), expected)


def test_what_is_not_lumpable_has_no_part():
    swaps = Grouped(
        ((0, 4), (1,), (2,), (3,), (5,)), (Dense.binary(0.3, 0.3), None, None, None, None)
    )
    block = Block((A, B), swaps)
    assert block.restrict(["a"]) is None
    assert block.restrict(["b"]) is None
    assert block.restrict(["a", "b"]) is swaps


def test_channels_that_differ_have_different_digests():
    """Also the part of a cut-and-paste channel over more variables, which is another channel."""
    channels = [
        CutAndPaste((2, 3), 2, 5, 2),
        CutAndPaste((2, 3), 2, 5, 4),
        Identity(6),
        Withheld(6),
    ]
    channels += [Symmetric.from_gamma(6, 5.0), Mixture.from_gamma(6, 5.0)]
    blocks = [Block((A, B), channel) for channel in channels]
    assert len({block.digest for block in blocks}) == len(blocks)
