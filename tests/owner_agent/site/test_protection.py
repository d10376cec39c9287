"""A sensitive variable whose reports prove a value: always, and it is refused; or it is told."""

import itertools

import pytest

from owner_agent.report.plan import warnings
from owner_agent.site.planning import PlannedSite
from owner_agent.site.protection import require_protected, share_proven
from pramana_core.channels import (
    RESOLUTION,
    Choice,
    CutAndPaste,
    Dense,
    Grouped,
    Identity,
    Mixture,
    OneHot,
    Sampled,
    Symmetric,
)
from pramana_core.domain import Variable
from pramana_core.errors import UnprotectedVariable
from pramana_core.plan import Block, Plan

HALF = RESOLUTION // 2


def block_of(sizes, channel):
    names = "abcdefgh"
    variables = [
        Variable(names[i], tuple(f"{names[i]}{k}" for k in range(s))) for i, s in enumerate(sizes)
    ]
    return Block(tuple(variables), channel)


def dense(rows):
    return Dense.from_probabilities(rows)


def proven_by_listing(block, axis):
    """Return each possible truth's chance of a report that no other value of the variable makes."""
    matrix = block.channel.matrix()
    cells = list(itertools.product(*(range(v.size) for v in block.variables)))
    truths = range(len(cells))
    return {
        true: sum(
            matrix[true, m]
            for m in range(matrix.shape[1])
            if {cells[k][axis] for k in truths if matrix[k, m] > 0} == {cells[true][axis]}
        )
        for true in truths
    }


TWO = [2, 2]
CASES = {
    "one-category group": ([3], Grouped.from_probability([[0], [1, 2]], 0.3)),
    "no one-category group": ([4], Grouped.from_probability([[0, 3], [1, 2]], 0.3)),
    "an identity row": ([3], dense([[1, 0, 0], [0, 0.5, 0.5], [0, 0.3, 0.7]])),
    "own reports, though random": (
        [3], dense([[0.5, 0.5, 0, 0], [0, 0, 0.4, 0.6], [0, 0, 0.7, 0.3]]),
    ),
    "almost all proven": ([2], dense([[0.999, 0, 0.001], [0, 0.999, 0.001]])),
    "one-sided": ([2], dense([[1, 0], [0.3, 0.7]])),
    "never the truth": ([3], Symmetric(3, HALF)),
    "symmetric": ([3], Symmetric.from_gamma(3, 5)),
    "groups are values": (TWO, Grouped.from_probability([[0, 1], [2, 3]], 0.3)),
    "groups cross": (TWO, Grouped.from_probability([[0, 3], [1, 2]], 0.3)),
    "a combination alone": (TWO, Grouped.from_probability([[0], [1, 2, 3]], 0.3)),
    "identities in groups": (TWO, Grouped(((0, 1), (2, 3)), (Identity(2), Identity(2)))),
    "never the truth in groups": (
        [2, 3], Grouped(((0, 1, 3), (2, 4, 5)), (Symmetric(3, HALF), Symmetric.from_gamma(3, 5))),
    ),
    "a matrix in a group": (
        [2, 3],
        Grouped(
            ((0, 1, 3), (2, 4, 5)),
            (dense([[0.6, 0.4, 0], [0.5, 0.5, 0], [0.1, 0.1, 0.8]]), Symmetric.from_gamma(3, 5)),
        ),
    ),
    "mixture": (TWO, Mixture.from_gamma(4, 3)),
    "mixture that keeps all": (TWO, Mixture(4, 1 << 64)),
    "items": ([3], OneHot.from_probability(3, 0.8)),
    "cut and paste": (TWO, CutAndPaste.from_probability((2, 2), 1, 0.3)),
}  # fmt: skip


@pytest.mark.parametrize(("sizes", "channel"), CASES.values(), ids=CASES)
def test_what_reports_prove_against_the_listed_matrix(sizes, channel):
    block = block_of(sizes, channel)
    for axis, name in enumerate(block.names):
        proven = proven_by_listing(block, axis)
        assert share_proven(block, name) == pytest.approx(max(proven.values()), abs=1e-8)
        if max(proven.values()) > 1 - 1e-12:
            with pytest.raises(UnprotectedVariable):
                require_protected(block, frozenset({name}))
        else:
            require_protected(block, frozenset({name}))


def warned(block, sensitive=None):
    plan = Plan((block,))
    names = frozenset(block.names if sensitive is None else sensitive)
    return warnings(PlannedSite({}, plan, names, {name: name for name in block.names}))


@pytest.mark.parametrize(
    ("case", "percent"),
    [("almost all proven", "99.9%"), ("one-sided", "70%"), ("never the truth in groups", "50%")],
)
def test_reports_that_prove_a_value_are_warned_of(case, percent):
    said = [line for line in warned(block_of(*CASES[case])) if line.startswith("a ")]
    assert len(said) == 1
    assert "prove its value, for up to" in said[0]
    assert percent in said[0]
    assert not warned(block_of([3], Symmetric.from_gamma(3, 5)))
    assert not warned(block_of(*CASES[case]), ())


def test_reports_that_only_rule_a_value_out_are_told_apart():
    (said,) = warned(block_of([3], dense([[0.6, 0.4, 0], [0.3, 0.2, 0.5], [0.1, 0.4, 0.5]])))
    assert "exclude a value with certainty" in said


def test_a_sampled_block_proves_as_often_as_it_reports():
    """Each subset is some records' whole report, and proves with the chance that it is chosen."""
    one_sided = dense([[1, 0], [0.3, 0.7]])
    channel = Sampled(
        (2, 2), (Choice((0,), HALF // 2, one_sided), Choice((1,), HALF, Symmetric.from_gamma(2, 3)))
    )
    block = block_of(TWO, channel)
    assert share_proven(block, "a") == pytest.approx(0.7 / 4)
    assert share_proven(block, "b") == 0
    require_protected(block, frozenset("ab"))
    bare = Sampled((2, 2), (Choice((0, 1), HALF, Grouped.from_probability([[0], [1, 2, 3]], 0.3)),))
    with pytest.raises(UnprotectedVariable):
        require_protected(block_of(TWO, bare), frozenset("b"))


def test_large_symmetric_channels_are_not_listed():
    size = 10**6
    assert share_proven(block_of([1000, 1000], Symmetric.from_probability(size, 0.5)), "a") == 0
    assert share_proven(block_of([1000, 1000], Mixture.from_gamma(size, 100)), "b") == 0
    assert share_proven(block_of([1000], Identity(1000)), "a") == 1
