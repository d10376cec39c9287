"""Every kind of channel a site file can ask for, what each refuses, and the guide's examples."""

import math
import re
import tomllib
from typing import get_args

import pytest

from owner_agent.site.channels import AnyChannel
from owner_agent.site.planning import planned
from owner_agent.site.protection import require_estimable, require_protected
from owner_agent.site.site import site_from
from pramana_core.channels import (
    MIXTURE_CELLS,
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
    SubsetSelection,
    Symmetric,
)
from pramana_core.domain import Variable
from pramana_core.errors import (
    ChannelError,
    OptionError,
    PlanError,
    PramanaError,
    SingularChannel,
    UnknownCategory,
    UnknownVariable,
    UnprotectedVariable,
)
from pramana_core.plan import Block
from pramana_core.wire.channels import PlanMessage
from tests.owner_agent.site.written import HEAD, channel_of, one, site_of
from tests.places import ROOT


@pytest.mark.parametrize(
    ("channel", "categories", "expected"),
    [
        ("symmetric, p = 0.3", "abc", Symmetric.from_probability(3, 0.3)),
        ("symmetric, gamma = 19", "abc", Symmetric.from_gamma(3, 19)),
        ("symmetric, epsilon = 1.5", "abc", Symmetric.from_gamma(3, math.exp(1.5))),
        ("binary, p1 = 0.1, p2 = 0.25", "ab", Dense.binary(0.1, 0.25)),
        ("ternary, p1 = 0.1, p2 = 0.2", "abc", Dense.ternary(0.1, 0.2)),
        (
            "matrix, rows = [[0.9, 0.1], [0.3, 0.7]]",
            "ab",
            Dense.from_probabilities([[0.9, 0.1], [0.3, 0.7]]),
        ),
        (
            'grouped, groups = [["c", "a"], ["b", "e", "d"]], p = 0.2',
            "abcde",
            Grouped.from_probability([[2, 0], [1, 4, 3]], 0.2),
        ),
        (
            'grouped, groups = [["c", "a"], ["b", "d"]], epsilon = 1',
            "abcd",
            Grouped(((2, 0), (1, 3)), (Symmetric.from_gamma(2, math.e),) * 2),
        ),
        ("gamma-diagonal, gamma = 19", "abc", Mixture.from_gamma(3, 19)),
        ("gamma-diagonal, epsilon = 2", "abc", Mixture.from_gamma(3, math.exp(2))),
        ("random-gamma-diagonal, gamma = 3", "abc", RandomSymmetric.around_gamma(3, 3.0, 0.5)),
        (
            "random-gamma-diagonal, gamma = 19, share = 0.1",
            "abc",
            RandomSymmetric.around_gamma(3, 19.0, 0.1),
        ),
        ("mask, p = 0.9", "abc", OneHot.from_probability(3, 0.9)),
        ("mask, gamma = 9", "abc", OneHot.from_gamma(3, 9)),
        ("subset, gamma = 9", "abc", Symmetric.from_gamma(3, 9)),
        ("subset, gamma = 2", "abcdefgh", SubsetSelection.from_gamma(8, 2)),
        ("cut-and-paste, keep = 1, rho = 0.4", "abc", CutAndPaste.from_probability((3,), 1, 0.4)),
        (
            "sampled, size = 1, gamma = 4",
            "abc",
            Sampled((3,), (Choice((0,), RESOLUTION, Symmetric.from_gamma(3, 4)),)),
        ),
    ],
)
def test_every_kind_of_channel(tmp_path, channel, categories, expected):
    plan = planned(one(tmp_path, channel, str(list(categories)))).plan
    assert plan.blocks[0].channel == expected
    rows = expected.matrix()
    shown = rows[:, rows.max(axis=0) > 0]
    assert (shown.max(axis=0) > shown.min(axis=0)).any()
    assert PlanMessage.from_plan(plan).to_plan() == plan


REFUSED = {
    UnprotectedVariable: [
        "",
        "symmetric, p = 0.0",
        "symmetric, p = 1.0",
        "binary, p1 = 0, p2 = 0",
        "binary, p1 = 1, p2 = 1",
        'grouped, groups = [["a"], ["b"]], p = 0.5',
        "mask, p = 1.0",
    ],
    SingularChannel: [
        "symmetric, p = 0.5",
        "matrix, rows = [[0.5, 0.5], [0.5, 0.5]]",
        "gamma-diagonal, gamma = 1",
        "mask, p = 0.5",
        "cut-and-paste, keep = 1, rho = 1.0",
        "sampled, size = 1, gamma = 1",
    ],
    ChannelError: [
        "matrix, rows = [[0.9, 0.09], [0.5, 0.5]]",
        "symmetric, p = 1.5",
        "sampled, size = 1, gamma = 5, weights = [0.0]",
        "sampled, size = 1, gamma = 5, weights = [0.9]",
        "ternary, p1 = 0.1, p2 = 0.1",
        "symmetric, gamma = 0.5",
        "symmetric, epsilon = 1000",
        "gamma-diagonal, epsilon = -1",
        'grouped, groups = [["a", "b"], ["b"]], p = 0.5',
        'grouped, groups = [["a"]], gamma = 5',
        'grouped, groups = [["a", "b"], []], p = 0.1',
        "sampled, size = 2, gamma = 5",
        'sampled, subsets = [["A", "A"]], gamma = 5',
        'sampled, subsets = [["A"], ["A"]], gamma = 5',
        "sampled, subsets = [[]], gamma = 5",
        "sampled, subsets = [], gamma = 5",
    ],
    UnknownCategory: ['grouped, groups = [["a", "z"], ["b"]], p = 0.5'],
    UnknownVariable: ['sampled, subsets = [["A"], ["Z", "Y"]], gamma = 5'],
    OptionError: [
        "cut-and-paste, keep = 3, gamma = 2",
        "sampled, size = 1, gamma = 5, weights = [0.5, 0.5]",
    ],
}


@pytest.mark.parametrize(
    ("error", "channel"), [(error, one_) for error, all_ in REFUSED.items() for one_ in all_]
)
def test_a_channel_that_must_not_be(tmp_path, error, channel):
    with pytest.raises(error) as raised:
        planned(one(tmp_path, channel))
    assert type(raised.value) is error
    assert raised.value.where == "A"


# Blocks of several variables ---------------------------------------------------------------------


def _block(tmp_path, channel, sizes=(2, 2, 2), sensitive=None):
    """Return a site with one block of variables a, b, c, ... of categories 0, 1, ..."""
    names = [chr(ord("a") + i) if i < 26 else f"x{i}" for i in range(len(sizes))]
    told = sensitive or ["true"] * len(sizes)
    variables = "".join(
        f'[[variables]]\nname = "{n}"\ncategories = {[str(c) for c in range(k)]}\nsensitive = {s}\n'
        for n, k, s in zip(names, sizes, told, strict=True)
    )
    block = f"[[blocks]]\nvariables = {names}\nchannel = {channel_of(channel)}\n"
    return site_of(tmp_path, variables + block)


def _channel(tmp_path, channel, *given):
    return planned(_block(tmp_path, channel, *given)).plan.blocks[0].channel


def test_a_gamma_diagonal_matrix_over_a_record_of_any_size(tmp_path):
    made = _channel(tmp_path, "gamma-diagonal, gamma = 1e12", (2,) * 62)
    assert made == Mixture.from_gamma(MIXTURE_CELLS, 1e12)
    with pytest.raises(ChannelError):
        _channel(tmp_path, "gamma-diagonal, gamma = 19", (2,) * 63)


def test_sampled_pairs(tmp_path):
    made = _channel(tmp_path, "sampled, size = 2, gamma = 19", (2, 3, 4))
    assert [choice.axes for choice in made.choices] == [(0, 1), (0, 2), (1, 2)]
    assert [choice.channel for choice in made.choices] == [
        Symmetric.from_gamma(n, 19) for n in (6, 8, 12)
    ]
    assert made.silent == 0
    assert max(c.weight for c in made.choices) - min(c.weight for c in made.choices) <= 1


def test_sampled_subsets_with_weights(tmp_path):
    channel = 'sampled, subsets = [["c", "a"], ["b"]], weights = [0.75, 0.25], epsilon = 2'
    made = _channel(tmp_path, channel)
    amplification = math.exp(2)
    assert made.choices == (
        Choice((0, 2), 3 << 30, Symmetric.from_gamma(4, amplification)),
        Choice((1,), 1 << 30, Symmetric.from_gamma(2, amplification)),
    )


@pytest.mark.parametrize(
    ("channel", "sizes", "error"),
    [
        ("sampled, size = 30, gamma = 19", (2,) * 62, ChannelError),
        ("sampled, size = 63, gamma = 19", (2,) * 64, ChannelError),
        ('sampled, subsets = [["a", "b"]], gamma = 19', (2, 2, 2), PlanError),
        ("cut-and-paste, keep = 2, rho = 0.4", (2,) * 63, ChannelError),
        ("mask, p = 0.9", (2, 2), ChannelError),
        ("symmetric, gamma = 19", (2,) * 33, ChannelError),
        ("random-gamma-diagonal, gamma = 19", (2,) * 33, ChannelError),
        ("matrix, rows = [[0.9, 0.1], [0.1, 0.9]]", (100, 100), ChannelError),
        ('grouped, groups = [["0*0"]], p = 0.1', (100, 100), ChannelError),
        ("mask, p = 0.9", (17,), ChannelError),
    ],
)
def test_a_domain_that_a_kind_does_not_serve(tmp_path, channel, sizes, error):
    if len(sizes) == 1:
        site = one(tmp_path, channel, str([str(c) for c in range(sizes[0])]))
    else:
        site = _block(tmp_path, channel, sizes)
    with pytest.raises(error) as told:
        planned(site)
    assert type(told.value) is error


def test_a_cut_and_paste_block_is_judged_by_single_variables(tmp_path):
    """All ten items together cannot be estimated, one can."""
    made = _channel(tmp_path, "cut-and-paste, keep = 2, rho = 0.4", (2,) * 10)
    assert made == CutAndPaste.from_probability((2,) * 10, 2, 0.4)
    assert made.condition_number > 1e8


@pytest.mark.parametrize(
    ("weights", "error"),
    [
        ([1 - 2e-12, 1e-12, 1e-12], ChannelError),
        ([1 - 1e-9, 1e-9 - 1e-15, 1e-15], ChannelError),
        ([1.1, -0.05, -0.05], ChannelError),
        ([1.0, 0.0, 0.0], ChannelError),
    ],
)
def test_a_weight_too_small_to_be_published(tmp_path, weights, error):
    channel = f"sampled, size = 1, gamma = 5, weights = {weights}"
    with pytest.raises(ChannelError) as told:
        _channel(tmp_path, channel)
    assert type(told.value) is error
    assert told.value.where == "a*b*c"


def test_a_combination_that_can_be_read_in_two_ways_is_refused(tmp_path):
    """`x*y*z` is x*y with z, or x with y*z."""
    variables = "".join(
        f'[[variables]]\nname = "{name}"\ncategories = {categories}\nsensitive = true\n'
        for name, categories in (("a", ["x", "x*y"]), ("b", ["z", "y*z"]))
    )
    channel = 'grouped, groups = [["x*y*z"]], p = 0.2'
    block = f'[[blocks]]\nvariables = ["a", "b"]\nchannel = {channel_of(channel)}\n'
    with pytest.raises(ChannelError) as told:
        planned(site_of(tmp_path, variables + block))
    assert type(told.value) is ChannelError
    assert told.value.where == "a*b"
    assert told.value.remedy


AB = (Variable("a", ("0", "1")), Variable("b", ("0", "1")))


def test_a_sampled_subset_must_protect_what_it_reports():
    """Another subset that protects the variable does not help those who report this one."""
    half = RESOLUTION // 2
    fair = Choice((0, 1), half, Symmetric.from_gamma(4, 5))
    bare = Block(AB, Sampled((2, 2), (fair, Choice((1,), half, Identity(2)))))
    require_estimable(bare)
    require_protected(bare, frozenset({"a"}))
    with pytest.raises(UnprotectedVariable):
        require_protected(bare, frozenset({"b"}))


# The guide ---------------------------------------------------------------------------------------

GUIDE = (ROOT / "docs" / "owner-guide.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^\| `([a-z-]+)` \|.*\| `(channel = \{.*\})` \|$", GUIDE, re.MULTILINE)
KINDS = {
    kind
    for spec in get_args(get_args(AnyChannel)[0])
    for kind in get_args(spec.model_fields["kind"].annotation)
}


def test_every_kind_has_an_example_in_the_guide():
    assert {kind for kind, _ in EXAMPLES} == KINDS


@pytest.mark.parametrize(("kind", "example"), EXAMPLES)
def test_the_examples_of_the_guide_are_plans(tmp_path, kind, example):
    """A block of sex and income, a variable of three categories, or one of two."""
    channel = tomllib.loads(example)["channel"]
    assert channel["kind"] == kind
    pair = [("sex", ["f", "m"]), ("income", ["low", "high"])]
    for variables in (pair, [("grade", ["a", "b", "c"])], [("smoker", ["no", "yes"])]):
        content = tomllib.loads(HEAD)
        content["variables"] = [
            {"name": name, "categories": categories, "sensitive": True}
            for name, categories in variables
        ]
        if len(variables) > 1:
            names = [name for name, _ in variables]
            content["blocks"] = [{"variables": names, "channel": channel}]
        else:
            content["variables"][0]["channel"] = channel
        try:
            assert planned(site_from(content, tmp_path)).plan.blocks[0].channel
        except PramanaError:
            continue
        return
    pytest.fail(f"no variable fits the example of {kind}")
