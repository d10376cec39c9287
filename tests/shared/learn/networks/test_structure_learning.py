"""Structures learned from randomized reports: rates of error, confidence, determinism."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest

from pramana_core.domain import Domain
from pramana_core.errors import OptionError, PramanaError, UnknownVariable
from pramana_core.estimation.estimated import EstimatedMarginals
from pramana_core.learn.common.options import Scoring, Search
from pramana_core.learn.networks import structure_learning
from pramana_core.learn.networks.network import BayesNet
from pramana_core.learn.networks.structure import Structure
from pramana_core.learn.networks.structure_learning import learn_structure
from pramana_core.plan import Plan
from tests.lengths import repetitions
from tests.shared.learn.cases import Table, expected, plan_of


def network_of(parents: dict[str, str], first: dict[str, list[float]]) -> BayesNet:
    """A binary network from the probabilities of each node's first category."""
    tables = {}
    for node, given in parents.items():
        ones = np.array(first[node]).reshape([2] * len(given))
        tables[node] = np.stack([ones, 1 - ones], axis=-1)
    domain = Domain.of(**dict.fromkeys(parents, "12"))
    return BayesNet(domain, Structure.of(parents), tables)


SIX = network_of(
    {"A": "", "B": "A", "C": "A", "D": "BC", "E": "D", "F": "CD"},
    {
        "A": [0.4],
        "B": [0.2, 0.75],
        "C": [0.7, 0.25],
        "D": [0.9, 0.35, 0.45, 0.1],
        "E": [0.2, 0.8],
        "F": [0.85, 0.3, 0.4, 0.15],
    },
)
"""The first four nodes of the six."""


def seen(network: BayesNet, p: float, records: int) -> tuple[Plan, np.ndarray]:
    """The plan of strength p for every variable, and the reports that are expected."""
    plan = plan_of(network.domain, p)
    return plan, expected(network.marginal(network.domain.names) * records, plan).tensor


def drawn(network: BayesNet, p: float, records: int, seed: int) -> EstimatedMarginals:
    plan, law = seen(network, p, 1)
    counts = np.random.default_rng(seed).multinomial(records, law.ravel()).reshape(law.shape)
    return EstimatedMarginals(Table(network.domain.names, counts), plan)


def mistakes(found: Structure, true: Structure) -> tuple[int, int]:
    """Links too many and too few, whatever their direction."""
    ours, theirs = ({frozenset(link) for link in s.links} for s in (found, true))
    return len(ours - theirs), len(theirs - ours)


# The six nodes of issue and design ----------------------------------------------------------------


@pytest.mark.slow
def test_without_noise_the_network_is_found():
    """Along its order exactly; without one up to directions that nothing tells."""
    marginals = drawn(SIX, 0.0, 10_000, 1)
    for search in (Search(SIX.structure.nodes), Search()):
        found = learn_structure(marginals, search=search, draws=0).structure
        assert mistakes(found, SIX.structure) == (0, 0)
    learned = learn_structure(marginals, draws=0)
    # Its only bare colliders are B -> D <- C; what follows from them is D -> E and D -> F.
    compelled = {(link.parent, link.child) for link in learned.links if link.compelled}
    assert {("B", "D"), ("C", "D"), ("D", "E")} <= compelled
    assert not compelled & {("A", "B"), ("B", "A"), ("A", "C"), ("C", "A")}


# What is said of each link ------------------------------------------------------------------------


def test_a_report_names_gain_inflation_and_confidence():
    marginals = drawn(SIX, 0.2, 10_000, 2)
    learned = learn_structure(marginals, search=Search(SIX.structure.nodes), draws=50)
    assert learned.scoring == Scoring()
    assert learned.search == Search(SIX.structure.nodes)
    assert learned.records == 10_000
    assert [(link.parent, link.child) for link in learned.links] == list(learned.structure.links)
    for link in learned.links:
        assert link.gain > 0
        assert link.inflation > 1
        assert link.confidence is not None
        assert 0 <= link.confidence <= 1
    silent = learn_structure(marginals, search=Search(SIX.structure.nodes), draws=0)
    assert {link.confidence for link in silent.links} == {None}
    assert silent.structure == learned.structure


def test_the_odds_are_of_one_link_among_all_pairs():
    """By hand: samples that all say 3 nats are worth e^3 to the number of pairs."""
    found = structure_learning.confidence_of([(np.full(10, 4.0), 3.0, 15)])
    assert found == pytest.approx(math.exp(3) / (math.exp(3) + 15))
    # Half of them at -1, half at 7: their probabilities count, not their mean.
    mixed = structure_learning.confidence_of([(np.array([-1.0, 7.0]), 3.0, 1)])
    assert mixed == pytest.approx((1 / (1 + math.e) + 1 / (1 + math.exp(-7))) / 2)


def test_chains_that_explain_a_pair_as_well_share_its_probability():
    one, other = (np.full(10, 2.0), 5.0, 15), (np.full(10, 1.0), 0.0, 1)
    found = structure_learning.confidence_of([one, other, other])
    assert found == pytest.approx(1 / (1 + 15 * math.exp(-5) + 2))


def few_links(seed: int, most: int) -> tuple[BayesNet, float, int]:
    """Six variables with up to so many links, most of them weak, and how they are reported."""
    rng = np.random.default_rng([1355, seed])
    names = "ABCDEF"
    parents = dict.fromkeys(names, "")
    pairs = [(a, b) for b in names for a in names if a < b]
    for place in rng.permutation(len(pairs))[: rng.integers(0, most + 1)]:
        parent, child = pairs[place]
        parents[child] += parent if len(parents[child]) < 2 else ""
    strength = rng.uniform(0.05, 0.6, size=6)
    first = {
        name: list((1 - s) * rng.uniform(0.2, 0.8) + s * rng.uniform(size=2 ** len(parents[name])))
        for name, s in zip(names, strength, strict=True)
    }
    return (
        network_of(parents, first),
        float(rng.choice([0.0, 0.2, 0.3])),
        int(rng.choice([1000, 5000])),
    )


SOME_RUNS, NONE_RUNS = repetitions(60, 120), repetitions(100, 200)


@cache
def trusted(runs: int, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Each link found: its confidence, and whether it is one."""
    found = []
    for seed in range(runs):
        network, p, records = few_links(seed, most)
        true = {frozenset(link) for link in network.structure.links}
        marginals = drawn(network, p, records, seed)
        learned = learn_structure(marginals, search=Search(max_parents=2), draws=100)
        found += [(k.confidence, frozenset((k.parent, k.child)) in true) for k in learned.links]
    confidence, right = np.array(found, dtype=float).T
    return confidence, right


@pytest.mark.calibration
def test_confidence_promises_no_more_than_it_keeps():
    """Up to five links among fifteen pairs, or none: as many are right as confidence says.

    In the mean over links of each range of confidence, up to 5 standard errors of a binomial share
    (false alarm below 1e-6). The control: the same numbers a good deal nearer to 1.
    """
    some, none = trusted(SOME_RUNS, 5), trusted(NONE_RUNS, 0)
    confidence, right = (np.concatenate((some[part], none[part])) for part in (0, 1))

    def kept(said: np.ndarray) -> bool:
        verdicts = []
        for low, high in ((0.0, 0.5), (0.5, 0.9), (0.9, 1.01)):
            within = (said >= low) & (said < high)
            promised = said[within].sum()
            error = math.sqrt((said[within] * (1 - said[within])).sum() + 1e-9)
            verdicts.append(right[within].sum() >= promised - 5 * error - 0.5)
        return all(verdicts)

    assert len(right) >= 40
    assert kept(confidence)
    assert not kept(1 - (1 - confidence) * 0.02)


# Options ------------------------------------------------------------------------------------------


def test_only_wanted_children_get_parents():
    marginals = drawn(SIX, 0.1, 20_000, 6)
    order = SIX.structure.nodes
    some = learn_structure(marginals, search=Search(order), children=["D", "B"], draws=0)
    parents = some.structure.parents
    assert (set(parents["D"]), parents["B"]) == ({"B", "C"}, ("A",))
    assert not any(parents[node] for node in "ACEF")


@pytest.mark.parametrize(
    ("options", "error", "where"),
    [
        ({"draws": -1}, OptionError, "draws"),
        ({"seed": -1}, OptionError, "seed"),
        ({"search": Search(("A", "B"))}, OptionError, "order"),
        ({"search": Search(tuple("ABCDEFG"))}, OptionError, "order"),
        ({"children": ["A"]}, OptionError, "children"),
        ({"children": ["A", "Q"], "search": Search(tuple("ABCDEF"))}, UnknownVariable, None),
    ],
)
def test_invalid_options_are_refused(
    options: dict[str, object], error: type[PramanaError], where: str | None
):
    with pytest.raises(error) as refused:
        learn_structure(drawn(SIX, 0.1, 1000, 8), **options)  # type: ignore[arg-type]
    assert refused.value.where == where
