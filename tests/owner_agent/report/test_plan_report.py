"""The plan's report: its numbers by brute force, its page and its terminal form."""

import io
import itertools
import math
import re

import numpy as np
import pytest
from rich.console import Console

from owner_agent.report.plan import report
from owner_agent.site.planning import PlannedSite
from owner_agent.site.protection import require_protected
from pramana_core.channels import (
    RESOLUTION,
    Choice,
    CutAndPaste,
    Dense,
    Grouped,
    Identity,
    Mixture,
    OneHot,
    RandomSymmetric,
    Sampled,
    Symmetric,
    Withheld,
)
from pramana_core.domain import Variable
from pramana_core.errors import OptionError, UnprotectedVariable
from pramana_core.plan import Block, Plan
from pramana_core.privacy import PRIOR, Amplification
from pramana_core.report.numbers import belief, bound, percent
from pramana_core.report.page import html
from pramana_core.report.terminal import print_report

LETTERS = "abcdefghij"


def block(sizes, channel, prefix="v"):
    variables = [Variable(f"{prefix}{i}", tuple(LETTERS[:s])) for i, s in enumerate(sizes)]
    return Block(tuple(variables), channel)


def plan_of(*blocks, sensitive=None):
    """A plan in which all variables are sensitive that may be."""
    made = Plan(blocks)
    variables = {v.name: v for v in made.domain}
    may = (name for block in blocks for name in block.names if protects(block, name))
    names = frozenset(may if sensitive is None else sensitive)
    return PlannedSite(variables, made, names, {name: name for name in variables})


def protects(block, name):
    try:
        require_protected(block, frozenset({name}))
    except UnprotectedVariable:
        return False
    return True


def random_dense(true, reported, seed):
    rng = np.random.default_rng(seed)
    rows = np.maximum(rng.dirichlet(np.full(reported, 0.7), true), 0.01)
    return Dense.from_probabilities((rows / rows.sum(axis=1, keepdims=True)).tolist())


HALF = RESOLUTION // 2
TWO_PARTS = Sampled(
    (2, 3, 2),
    (
        Choice((0, 1), HALF, random_dense(6, 6, 3)),
        Choice((0, 1), HALF // 4, Symmetric.from_gamma(6, 9)),
        Choice((1, 2), HALF // 2, Mixture.from_gamma(6, 9)),
    ),
)
SCHEMES = {
    "binary": block([2], Dense.binary(0.1, 0.25)),
    "symmetric": block([5], Symmetric.from_probability(5, 0.4)),
    "random": block([6], RandomSymmetric.around_gamma(6, 19, 0.2)),
    "rectangular": block([3], random_dense(3, 5, 1)),
    "items": block([4], OneHot.from_probability(4, 0.8)),
    "grouped": block([4], Grouped.from_probability([[0, 3], [1, 2]], 0.3)),
    "public": block([3], Identity(3)),
    "withheld": block([3], Withheld(3)),
    "mixture": block([2, 3], Mixture.from_gamma(6, 7)),
    "dense": block([2, 3], random_dense(6, 6, 2)),
    "joint groups": block([2, 2], Grouped.from_probability([[0, 1], [2, 3]], 0.3)),
    "cut and paste": block([2, 3], CutAndPaste.from_gamma((2, 3), 2, 19)),
    "sampled pairs": block(
        [2, 3, 2],
        Sampled(
            (2, 3, 2),
            tuple(
                Choice(axes, RESOLUTION // 3, Symmetric.from_gamma(size, 9))
                for axes, size in (((0, 1), 6), ((0, 2), 4), ((1, 2), 6))
            ),
        ),
    ),
    "sampled twice": block([2, 3, 2], TWO_PARTS),
}


def brute_joint(scheme):
    """Return Pr(cell, report) and the cells, by a loop over the cells."""
    matrix = scheme.channel.matrix()
    cells = list(itertools.product(*(range(v.size) for v in scheme.variables)))
    return matrix / len(cells), cells


def brute(joint):
    """Return the measures of a table Pr(truth, report) by their definitions."""
    prior = joint.sum(axis=1)
    return {"guess_blind": prior.max(), "guess_expected": joint.max(axis=0).sum()}


def brute_gamma(scheme):
    matrix = scheme.channel.matrix()
    worst = 1.0
    for column in matrix.T:
        if column.max() > 0:
            worst = max(worst, column.max() / column.min() if column.min() > 0 else math.inf)
    return worst


def same_bounds(found, worst):
    def grown(prior, factor):
        return 1.0 if math.isinf(factor) else prior * factor / (1 - prior + prior * factor)

    finite = worst if math.isfinite(worst) else None
    assert found["gamma"] == (None if finite is None else pytest.approx(worst, rel=1e-6))
    assert found["epsilon"] == (
        None if finite is None else pytest.approx(math.log(worst), abs=1e-6)
    )
    assert found["rho_2"] == pytest.approx(grown(0.05, worst), rel=1e-6)


@pytest.mark.parametrize("scheme", SCHEMES.values(), ids=SCHEMES)
def test_every_measure_is_that_of_the_listed_matrix(scheme):
    """Each variable and the block, against sums over all cells and reports."""
    made = report(plan_of(scheme), 1000).as_dict()
    joint, cells = brute_joint(scheme)
    (whole,) = made["blocks"]
    wanted = {"block": (whole, joint)}
    for axis, found in enumerate(made["variables"]):
        if len(scheme.variables) > 1 and scheme.channel.mixture is None:
            assert found["guess_expected"] is None
            same_bounds(found, brute_gamma(scheme))
            continue
        size = scheme.variables[axis].size
        table = np.array(
            [sum(joint[i] for i, c in enumerate(cells) if c[axis] == k) for k in range(size)]
        )
        wanted[found["name"]] = (found, table)
    for found, table in wanted.values():
        if (se := found.get("standard_error")) is not None:
            assert found["half_width"] == pytest.approx(1.959964 * se, rel=1e-5)
        for name, value in brute(table).items():
            assert found[name] == pytest.approx(value, abs=1e-8), name
        same_bounds(found, brute_gamma(scheme))


def test_a_terminal_of_80_columns_breaks_no_name_and_repeats_no_channel():
    names = [f"household_income_{place:02d}_last_years" for place in range(15)]
    pairs = [Choice(two, RESOLUTION // 105, Symmetric.from_gamma(4, 19))
             for two in itertools.combinations(range(15), 2)]  # fmt: skip
    variables = tuple(Variable(name, ("a", "b")) for name in names)
    made = report(plan_of(Block(variables, Sampled((2,) * 15, tuple(pairs)))), 3000)
    out = io.StringIO()
    print_report(made, *[Console(file=out, width=80)] * 2)
    lines = [line.split() for line in out.getvalue().splitlines() if "household" in line]
    assert [line[0] for line in lines] == names
    assert out.getvalue().count("parts sampled") == 1


def test_what_has_no_number_has_a_reason():
    made = report(plan_of(SCHEMES["sampled pairs"]), 900).as_dict()
    (whole,) = made["blocks"]
    assert [c["variables"] for c in whole["choices"]] == [["v0", "v1"], ["v0", "v2"], ["v1", "v2"]]
    assert [c["records"] for c in whole["choices"]] == pytest.approx([300] * 3, rel=1e-6)
    assert [v["records_reporting"] for v in made["variables"]] == pytest.approx([600] * 3, rel=1e-6)
    assert all(v["standard_error"] > 0 for v in made["variables"])
    (hidden,) = report(plan_of(SCHEMES["withheld"]), 9).as_dict()["variables"]
    assert hidden["standard_error"] is None
    assert hidden["unavailable"]["standard_error"]
    assert hidden["records_reporting"] == 0


@pytest.mark.slow
def test_large_channels_are_bounded_or_refused_with_a_reason():
    many = Variable("many", tuple(str(i) for i in range(3000)))
    huge = Block(
        tuple(Variable(f"w{i}", tuple(LETTERS)) for i in range(15)), Mixture.from_gamma(10**15, 19)
    )
    made = report(
        plan_of(Block((many,), Symmetric.from_gamma(3000, 9)), huge),
        1000,
    )
    numbers = made.as_dict()
    assert numbers["variables"][0]["guess_expected"] == pytest.approx(9 / 3008, rel=1e-3)
    assert numbers["blocks"][1]["gamma"] == pytest.approx(19, rel=1e-3)


@pytest.mark.slow
def test_together_multiplies_over_sensitive_blocks_only():
    blocks = [block([2], Symmetric.from_gamma(2, g), f"b{g}") for g in (3, 5, 7)]
    made = report(plan_of(*blocks, sensitive={"b30", "b50"}), 10).as_dict()["together"]
    assert made["blocks"] == ["b30", "b50"]
    assert made["gamma"] == pytest.approx(15, rel=1e-6)
    nothing = report(plan_of(*blocks, sensitive=()), 10)
    assert nothing.as_dict()["together"]["epsilon"] == 0
    assert len(nothing.sections[0].facts) == 3


def test_no_records_are_refused():
    with pytest.raises(OptionError):
        report(plan_of(SCHEMES["binary"]), 0)


# The page -----------------------------------------------------------------------------------------


def everything():
    blocks = []
    for place, (name, scheme) in enumerate(SCHEMES.items()):
        variables = [
            Variable(f"{LETTERS[place % 10]}{place} {name} {v.name}", v.categories)
            for v in scheme.variables
        ]
        blocks.append(Block(tuple(variables), scheme.channel))
    return plan_of(*blocks)


@pytest.mark.slow
def test_a_report_of_every_scheme_loads_nothing_and_its_tables_fit():
    made = report(everything(), 123_456_789)
    text = html(made, "clinic")
    assert not re.findall(r"""(?:url\(|href=["'])(?!#)""", text)
    out = io.StringIO()
    print_report(made, Console(file=out, width=80), Console(quiet=True))
    said = out.getvalue()
    rows = made.as_dict()["variables"]
    assert len(rows) > 20
    for row in rows:
        assert belief(Amplification.of_gamma(row["gamma"] or math.inf), PRIOR) in said
        assert row["half_width"] is None or percent(row["half_width"]) in said
        assert bound(row["gamma"]) in text
    assert made.as_dict()["plan_digest"] in text
