"""Structures from pairs: the forest, what it leaves out, and how often links are false."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import stats
from scipy.sparse.csgraph import minimum_spanning_tree

from pramana_core.channels import RESOLUTION, Choice, Identity, Sampled, most_accurate
from pramana_core.domain import Domain
from pramana_core.estimation.estimated import EstimatedMarginals
from pramana_core.learn.common.options import Search
from pramana_core.learn.networks import structure_learning
from pramana_core.learn.networks.dependence import Coefficients, Dependences, _tail
from pramana_core.learn.networks.network import BayesNet
from pramana_core.learn.networks.pairs import LEVEL, from_pairs
from pramana_core.learn.networks.structure import Structure
from pramana_core.learn.networks.structure_learning import LIKELY, confidence_of, learn_structure
from pramana_core.marginals.counts import ReportedCounts
from pramana_core.plan import Block, Plan
from tests.lengths import repetitions


def quiet(_done: int, _total: int) -> None:
    """No progress."""


def network(parents: dict[str, str], seed: int, size: int = 3) -> BayesNet:
    """A network of variables of one size, with random tables."""
    rng = np.random.default_rng(seed)
    domain = Domain.of(**dict.fromkeys(parents, "abc"[:size]))
    tables = {
        node: rng.dirichlet(np.full(size, 0.6), size=[size] * len(given))
        for node, given in parents.items()
    }
    return BayesNet(domain, Structure.of(parents), tables)


TREE = network({"A": "", "B": "A", "C": "A", "D": "B", "E": "B", "F": "C"}, 3)


def clean(made: BayesNet, records: int, seed: int) -> EstimatedMarginals:
    """Exact counts of records drawn from a network."""
    codes = made.sample(records, np.random.default_rng(seed))
    domain = made.domain.project(made.structure.nodes)
    sizes = {v.name: v.size for v in domain}
    plan = Plan(tuple(Block((v,), Identity(v.size)) for v in domain))
    return EstimatedMarginals(ReportedCounts(codes, sizes), plan)


def sampled(made: BayesNet, records: int, seed: int, gamma: float = 19.0) -> EstimatedMarginals:
    """Pooled tables of reports of one random pair of each record."""
    rng = np.random.default_rng(seed)
    codes = made.sample(records, rng)
    domain = made.domain.project(made.structure.nodes)
    pairs = list(itertools.combinations(range(len(domain)), 2))
    choices = []
    for pair in pairs:
        size = math.prod(domain.shape[axis] for axis in pair)
        channel = most_accurate(size, gamma)
        choices.append(Choice(pair, RESOLUTION // len(pairs), channel))
    plan = Plan((Block(tuple(domain), Sampled(domain.shape, tuple(choices))),))
    reported = {
        name: np.full(records, size, dtype=np.uint32)
        for name, size in zip(domain.names, domain.shape, strict=True)
    }
    which = rng.integers(0, len(pairs), records)
    for number, (first, second) in enumerate(pairs):
        rows = np.flatnonzero(which == number)
        one, other = domain.names[first], domain.names[second]
        true = codes[one][rows].astype(int) * domain.shape[second] + codes[other][rows]
        law = np.cumsum(choices[number].channel.matrix()[true], axis=1)
        report = (rng.random(len(rows))[:, None] > law[:, :-1]).sum(axis=1)
        reported[one][rows], reported[other][rows] = np.divmod(report, domain.shape[second])
    sizes = {name: size + 1 for name, size in zip(domain.names, domain.shape, strict=True)}
    return EstimatedMarginals(ReportedCounts(reported, sizes), plan, estimator="pooled")


def links(parents) -> set[frozenset[str]]:
    return {frozenset((p, child)) for child, given in parents.items() for p in given}


def test_the_forest_of_exact_counts_is_that_of_another_library():
    """SciPy's likelihood ratios of independence, and its spanning tree of the largest."""
    made = clean(TREE, 4_000, 1)
    names = made.domain.names
    found = from_pairs(made, names, 1, quiet).parents
    codes = TREE.sample(4_000, np.random.default_rng(1))
    told = np.zeros((len(names), len(names)))
    for one, other in itertools.combinations(range(len(names)), 2):
        table = stats.contingency.crosstab(codes[names[one]], codes[names[other]]).count
        told[one, other] = -stats.chi2_contingency(table, lambda_="log-likelihood").statistic
    theirs = np.argwhere(minimum_spanning_tree(told).toarray())
    assert links(found) == {frozenset(names[place] for place in edge) for edge in theirs}


def test_pairs_of_reports_find_the_tree_and_say_how_sure_they_are():
    found = learn_structure(sampled(TREE, 400_000, 5), draws=50)
    assert found.search.method == "chow-liu"
    assert {frozenset((x.parent, x.child)) for x in found.links} == links(
        {n: list(p) for n, p in TREE.structure.parents.items()}
    )
    confidence = {link.parent + link.child: link.confidence for link in found.links}
    # D depends strongly on B, so that A-D explains A-B almost as well.
    assert LIKELY < confidence.pop("AB") < 0.9
    assert all(each > 0.9 for each in confidence.values())
    assert all(link.inflation > 1 and math.isfinite(link.inflation) for link in found.links)


@pytest.mark.slow
def test_independent_variables_are_rarely_linked_and_dependent_ones_are():
    runs, alone = repetitions(30, 100), network(dict.fromkeys("ABCDE", ""), 11)
    false = 0
    for seed in range(runs):
        found = from_pairs(sampled(alone, 4_000, seed), alone.structure.nodes, 1, quiet)
        false += any(found.parents.values())
    # At most 5 % of data sets have a link: more than so many in one of a million tests.
    assert false <= stats.binom.isf(1e-6, runs, 0.05)
    control = from_pairs(sampled(TREE, 4_000, 1), TREE.structure.nodes, 1, quiet)
    assert any(control.parents.values())


@pytest.mark.slow
def test_a_link_to_a_copy_is_rarely_likely():
    """C depends on A, and B is almost a copy of A, so noise makes C-B look like the link.

    The chain over A explains C-B. One that looks stronger than this is likely in 11 % of data sets.
    """
    domain = Domain.of(A="01", B="01", C="01")
    tables = {
        "A": np.array([0.5, 0.5]),
        "B": np.array([[0.99, 0.01], [0.01, 0.99]]),
        "C": np.array([[0.7, 0.3], [0.3, 0.7]]),
    }
    made = BayesNet(domain, Structure.of({"A": "", "B": "A", "C": "A"}), tables)
    runs, wrong, before = repetitions(60, 200), 0, 0
    for seed in range(runs):
        marginals = sampled(made, 6_000, seed)
        for link in learn_structure(marginals).links:
            if {link.parent, link.child} == {"B", "C"}:
                assert link.confidence is not None
                wrong += link.confidence >= LIKELY
                against = Dependences(marginals).of("B", "C").independence
                draws = against.resampled(200, np.random.default_rng(seed))
                before += confidence_of([(draws, against.gain, 3)]) >= LIKELY
    most = stats.binom.isf(1e-6, runs, 0.11)
    assert wrong <= most
    # The control: independence is not the only other explanation.
    assert before > most


def test_the_tail_of_equal_weights_is_chi_square():
    for weights in (np.ones(3), np.full(5, 2.0)):
        at = 4.0 * weights.sum()
        assert _tail(at, weights) == pytest.approx(stats.chi2.sf(at / weights[0], len(weights)))


def test_a_chain_has_nothing_beyond_it_and_a_circle_has():
    chain = network({"A": "", "B": "A", "C": "B"}, 21)
    circle = network({"A": "", "B": "A", "C": "AB"}, 22)
    beyond = [
        Dependences(clean(made, 200_000, 2)).beyond("A", ["B"], "C") for made in (chain, circle)
    ]
    assert beyond[0] is not None
    assert beyond[0].p_value > 1e-6
    assert beyond[1] is not None
    assert beyond[1].p_value < 1e-12


@pytest.mark.slow
def test_links_beyond_the_forest_are_found_and_chains_are_left():
    circle = network({"A": "", "B": "A", "C": "AB", "D": "C", "E": "D"}, 23)
    found = from_pairs(clean(circle, 100_000, 3), circle.structure.nodes, 3, quiet)
    assert links(found.parents) == links({n: list(p) for n, p in circle.structure.parents.items()})
    assert frozenset("AC") in found.evidence
    false = 0
    for seed in range(40):
        parents = from_pairs(clean(TREE, 5_000, seed), TREE.structure.nodes, 3, quiet).parents
        false += len(links(parents)) > 5
    assert false <= stats.binom.isf(1e-6, 40, LEVEL)


def test_two_causes_that_are_independent_meet_at_their_effect():
    effect = network({"A": "", "B": "", "C": "AB", "D": "C"}, 25)
    found = from_pairs(clean(effect, 100_000, 4), effect.structure.nodes, 3, quiet)
    assert found.parents["C"] == {"A", "B"}
    assert found.parents["D"] == {"C"}


def test_a_search_is_by_pairs_only_where_records_report_few_variables():
    assert learn_structure(clean(TREE, 2_000, 1), draws=0).search.method == "hill-climbing"
    forced = learn_structure(clean(TREE, 2_000, 1), search=Search(method="chow-liu"), draws=0)
    assert forced.search.method == "chow-liu"
    climbed = learn_structure(
        sampled(TREE, 20_000, 5),
        search=Search(max_parents=2, method="hill-climbing"),
        draws=0,
    )
    # No record reports three variables: no variable gets two parents.
    assert max(map(len, climbed.structure.parents.values())) == 1


def test_samples_do_not_hang_on_the_signs_and_order_of_axes():
    """Eigenvectors have either sign, and of equal eigenvalues any rotation, by the processor."""
    values, covariance = np.array([0.3, -0.1, 0.2]), np.diag([0.01, 0.01, 0.04])
    one, other = Coefficients(values, covariance, 1000), Coefficients(values, covariance, 1000)
    half = np.sqrt(0.5)
    turn = np.array([[half, -half, 0.0], [half, half, 0.0], [0.0, 0.0, -1.0]])
    other.__dict__["_axes"] = (np.array([0.04, 0.01, 0.01]), turn[:, [2, 1, 0]])
    drawn = [each.resampled(5, np.random.default_rng(1)) for each in (one, other)]
    assert np.allclose(*drawn, rtol=1e-12)


def test_what_lies_beyond_a_chain_has_the_covariance_of_its_three_pairs():
    """By Kronecker products, with a middle variable of two categories between three and four."""
    rng = np.random.default_rng(9)
    domain = Domain.of(A="abc", B="ab", C="abcd")
    tables = {
        "A": rng.dirichlet(np.ones(3)),
        "B": rng.dirichlet(np.ones(2), size=3),
        "C": rng.dirichlet(np.ones(4), size=2),
    }
    made = BayesNet(domain, Structure.of({"A": "", "B": "A", "C": "B"}), tables)
    dependences = Dependences(clean(made, 2_000, 1))
    whole, left, right = (dependences.of(*pair) for pair in ("AC", "AB", "BC"))
    beyond = dependences.beyond("A", ["B"], "C")
    by_left, by_right = np.kron(np.eye(2), right.matrix.T), np.kron(left.matrix, np.eye(3))
    by_hand = whole.covariance + by_left @ left.covariance @ by_left.T
    by_hand += by_right @ right.covariance @ by_right.T
    assert np.allclose(beyond.covariance, by_hand, rtol=1e-12, atol=0)
    assert np.allclose(beyond.values, (whole.matrix - left.matrix @ right.matrix).ravel())


def test_a_sure_gain_is_below_the_gain_of_every_sample():
    rng, seen = np.random.default_rng(4), 0
    for size, scale in itertools.product((1, 4, 30), (0.05, 0.3, 1.0)):
        root = rng.standard_normal((size, 2 * size)) / 40
        covariance = root @ root.T + np.eye(size) / 1000
        tested = Coefficients(rng.standard_normal(size) * scale, covariance, 1000)
        gains = tested.resampled(2_000, rng)
        # As for a confidence, the mean is moved to the gain of the records.
        assert tested.sure_gain < (gains - gains.mean() + tested.gain).min()
        seen += tested.sure_gain > 0
    assert seen >= 2
    assert Coefficients(np.zeros(2), np.eye(2), 10).sure_gain == -math.inf
    assert Coefficients(np.ones(2), np.ones((2, 2)) - np.eye(2), 10).sure_gain == -math.inf


def test_chains_that_explain_nothing_are_skipped_and_change_no_confidence(monkeypatch):
    made, chains, sampled_chains = clean(TREE, 20_000, 1), [], []
    beyond, resampled = Dependences.beyond, Coefficients.resampled

    def kept(self, *names):
        chains.append(beyond(self, *names))
        return chains[-1]

    def noted(self, draws, rng):
        assert draws <= structure_learning.BATCH
        sampled_chains.extend(chain for chain in chains if chain is self)
        return resampled(self, draws, rng)

    monkeypatch.setattr(Dependences, "beyond", kept)
    monkeypatch.setattr(Coefficients, "resampled", noted)
    search = Search(method="chow-liu", max_parents=1)
    learn_structure(made, search=search, draws=0)
    assert chains == [], "without samples, there is nothing to compare"

    def confidences():
        found = learn_structure(made, search=search, draws=structure_learning.BATCH + 1)
        return [link.confidence for link in found.links]

    quick = confidences()
    # A chain that is not skipped has two batches.
    assert 0 < len(sampled_chains) < 2 * len(chains)
    monkeypatch.setattr(structure_learning, "_NEGLIGIBLE", math.inf)
    chains.clear()
    sampled_chains.clear()
    assert confidences() == pytest.approx(quick, rel=1e-9)
    assert len(sampled_chains) == 2 * len(chains)
