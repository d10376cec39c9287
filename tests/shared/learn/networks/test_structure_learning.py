"""Structures learned from randomized reports: rates of error, confidence, determinism."""

from __future__ import annotations

import itertools
import math
import os
import subprocess
import sys
from functools import cache

import numpy as np
import pytest
from scipy import stats

from pramana_core.channels import Identity, Symmetric, Transition, Withheld
from pramana_core.domain import Domain
from pramana_core.errors import LimitExceeded, OptionError, UnknownVariable
from pramana_core.estimation.estimated import EstimatedMarginals
from pramana_core.learn.networks import structure_learning
from pramana_core.learn.networks.bif import read_bif
from pramana_core.learn.networks.network import BayesNet
from pramana_core.learn.networks.scores import LikelihoodJudge, judge_of, value_of
from pramana_core.learn.networks.structure import Scoring, Search, Structure
from pramana_core.learn.networks.structure_learning import LearnedStructure, learn_structure
from pramana_core.marginals.counts import ReportedCounts
from pramana_core.plan import Block, Plan
from tests.lengths import repetitions
from tests.places import DATA, ROOT
from tests.shared.learn.networks.given_tables import Table, said_of_searches

NETWORKS = DATA / "networks"


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

FOUR = BayesNet(
    SIX.domain.project("ABCD"),
    Structure.of({node: SIX.structure.parents[node] for node in "ABCD"}),
    {node: SIX.tables[node] for node in "ABCD"},
)
"""The first four nodes of the six."""


def reported(network: BayesNet, p: float) -> tuple[Plan, np.ndarray]:
    """The plan of strength p for every variable, and the exact distribution of its reports."""

    def channel(size: int) -> Transition:
        return Symmetric.from_probability(size, p) if p else Identity(size)

    plan = Plan(tuple(Block((v,), channel(v.size)) for v in network.domain))
    seen = network.marginal(network.domain.names)
    for axis, block in enumerate(plan.blocks):
        seen = np.moveaxis(np.tensordot(seen, block.channel.matrix(), (axis, 0)), -1, axis)
    return plan, seen


def drawn(network: BayesNet, p: float, records: int, seed: int) -> EstimatedMarginals:
    plan, seen = reported(network, p)
    counts = np.random.default_rng(seed).multinomial(records, seen.ravel()).reshape(seen.shape)
    return EstimatedMarginals(Table(network.domain.names, counts), plan)


def exactly(network: BayesNet, p: float, records: int) -> EstimatedMarginals:
    """The reports that are expected, as if they had been made."""
    plan, seen = reported(network, p)
    return EstimatedMarginals(Table(network.domain.names, seen * records), plan)


def mistakes(found: Structure, true: Structure) -> tuple[int, int]:
    """Links too many and too few, whatever their direction."""
    ours, theirs = ({frozenset(link) for link in s.links} for s in (found, true))
    return len(ours - theirs), len(theirs - ours)


# The six nodes of issue and design ----------------------------------------------------------------

RUNS = repetitions(5, 20)
MOST = {0.2: 0.1, 0.25: 0.4, 0.3: 1.4}
"""The mean number of wrong links allowed at each p."""


@cache
def wrong_links(p: float, name: str) -> float:
    scoring = Scoring() if name == "likelihood" else Scoring("bayesian")
    search = Search(SIX.structure.nodes, 3, refine=name == "likelihood")
    errors = [
        sum(
            mistakes(
                learn_structure(
                    drawn(SIX, p, 10_000, 1000 + run), scoring, search, draws=0
                ).structure,
                SIX.structure,
            )
        )
        for run in range(RUNS)
    ]
    return sum(errors) / RUNS


@pytest.mark.calibration
@pytest.mark.parametrize("p", [0.2, pytest.param(0.25, marks=pytest.mark.campaign), 0.3])
def test_the_default_needs_no_threshold(p: float):
    """N = 10,000: means of extra and missing links; measured 0 and 1.2 (0 and 1.35 in 20 runs)."""
    assert wrong_links(p, "likelihood") <= MOST[p]


@pytest.mark.calibration
def test_the_plain_score_has_many_extra_links():
    """The negative control, at the least noise: K2 without a threshold; measured here 4.8."""
    assert wrong_links(0.2, "bayesian") > 20 * MOST[0.2]


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


def test_inflation_is_one_without_noise_and_infinite_without_inverse():
    for link in learn_structure(drawn(SIX, 0.0, 5000, 3), draws=0).links:
        assert link.inflation == pytest.approx(1, abs=1e-6)
    domain = SIX.domain.project("AB")
    plan = Plan((Block((domain["A"],), Identity(2)), Block((domain["B"],), Identity(2))))
    both = Table("AB", [[400, 100], [100, 400]])
    partly = Plan((plan.blocks[0], Block((domain["B"],), Withheld(2))))
    mixed = EstimatedMarginals.of([(both, plan), (Table("AB", [[300], [200]]), partly)])
    (link,) = learn_structure(mixed, draws=0).links
    assert link.inflation == math.inf


def weak_link(difference: float) -> BayesNet:
    return network_of({"X": "", "Y": "X"}, {"X": [0.5], "Y": [0.5 + difference, 0.5 - difference]})


PAIR = Search(("X", "Y"), 1)


def confidence_of(learned: LearnedStructure) -> float | None:
    return learned.links[0].confidence if learned.links else None


@pytest.mark.calibration
@pytest.mark.parametrize("name", ["likelihood", "bic"])
def test_confidence_is_the_mean_probability_over_samples(name: str):
    """Of a borderline link, from the reports expected, against fresh samples.

    Two variables are one pair: each sample has the odds exp(gain). Both means differ by less than
    5 standard errors (false alarm 1e-6) and by what the mean excess of samples, which confidence
    takes off, can shift them: of an excess of e nats and a spread of s, at most e / (s sqrt(2 pi)).
    """
    p, records, draws, runs = 0.2, 4000, 2000, repetitions(300, 800)
    difference = 0.085
    scoring = Scoring() if name == "likelihood" else Scoring("bic", c_star=10.0)
    network = weak_link(difference)
    learned = learn_structure(exactly(network, p, records), scoring, PAIR, draws=draws)
    confidence = confidence_of(learned)
    assert confidence is not None
    gains = np.array(
        [
            value_of(judge_of(drawn(network, p, records, s), scoring).gain("Y", frozenset(), "X"))
            for s in range(runs)
        ]
    )
    fresh = 1 / (1 + np.exp(-gains))
    assert 0.55 < confidence < 0.95, "the link is borderline"
    inflation = learned.links[0].inflation
    excess = (0.5 if name == "likelihood" else inflation / 2) / gains.std() / math.sqrt(2 * math.pi)
    error = fresh.std() * math.sqrt(1 / runs + 1 / draws)
    assert abs(confidence - fresh.mean()) < 5 * error + excess
    # The control: a link twice as strong is sure, which this one is not.
    strong = learn_structure(
        exactly(weak_link(2 * difference), p, records), scoring, PAIR, draws=draws
    )
    sure = confidence_of(strong)
    assert sure is not None
    assert sure > 0.99
    assert abs(sure - fresh.mean()) > 5 * error + excess


def test_the_odds_are_of_one_link_among_all_pairs():
    """By hand: samples that all say 3 nats are worth e^3 to the number of pairs."""
    found = structure_learning.confidence_of(np.full(10, 4.0), 3.0, 15)
    assert found == pytest.approx(math.exp(3) / (math.exp(3) + 15))
    # Half of them at -1, half at 7: their probabilities count, not their mean.
    mixed = structure_learning.confidence_of(np.array([-1.0, 7.0]), 3.0, 1)
    assert mixed == pytest.approx((1 / (1 + math.e) + 1 / (1 + math.exp(-7))) / 2)


def test_strong_evidence_is_sure():
    """All links of the six nodes at p = 0.1 with 20,000 records."""
    learned = learn_structure(
        drawn(SIX, 0.1, 20_000, 4), search=Search(SIX.structure.nodes), draws=200
    )
    assert mistakes(learned.structure, SIX.structure) == (0, 0)
    assert min(link.confidence or 0 for link in learned.links) > 0.99


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
def trusted(runs: int, most: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Each link found: its confidence, the share of samples that keep it, and whether it is."""
    found = []
    for seed in range(runs):
        network, p, records = few_links(seed, most)
        true = {frozenset(link) for link in network.structure.links}
        marginals = drawn(network, p, records, seed)
        learned = learn_structure(marginals, search=Search(max_parents=2), draws=100)
        for number, link in enumerate(learned.links):
            given = frozenset(learned.structure.parents[link.child]) - {link.parent}
            judge = LikelihoodJudge(marginals)
            gains = judge.resampled(
                link.child, given, link.parent, 100, np.random.default_rng(number)
            )
            kept = float(np.mean(gains - gains.mean() + link.gain > 0))
            right = frozenset((link.parent, link.child)) in true
            found.append((link.confidence, kept, right))
    confidence, kept, right = np.array(found, dtype=float).T
    return confidence, kept, right


@pytest.mark.calibration
def test_independent_variables_are_not_trusted():
    """Of links that chance makes at least nine of ten have odds against them.

    The control is what confidence was: the share of samples that keep the link, the mean of which
    is above one half, because the link was chosen in the same reports.
    """
    confidence, kept, right = trusted(NONE_RUNS, 0)
    assert not right.any()
    assert len(right) >= 5
    assert np.mean(confidence < 0.5) >= 0.9
    assert confidence.mean() < 0.4
    assert kept.mean() > 0.5


@pytest.mark.calibration
def test_confidence_promises_no_more_than_it_keeps():
    """Up to five links among fifteen pairs, or none: as many are right as confidence says.

    In the mean over links of each range of confidence, up to 5 standard errors of a binomial share
    (false alarm below 1e-6). The control: the same numbers a good deal nearer to 1.
    """
    some, none = trusted(SOME_RUNS, 5), trusted(NONE_RUNS, 0)
    confidence, right = (np.concatenate((some[part], none[part])) for part in (0, 2))

    def kept(said: np.ndarray) -> bool:
        verdicts = []
        for low, high in ((0.0, 0.5), (0.5, 0.9), (0.9, 1.01)):
            within = (said >= low) & (said < high)
            expected = said[within].sum()
            error = math.sqrt((said[within] * (1 - said[within])).sum() + 1e-9)
            verdicts.append(right[within].sum() >= expected - 5 * error - 0.5)
        return all(verdicts)

    assert len(right) >= 40
    assert kept(confidence)
    assert not kept(1 - (1 - confidence) * 0.02)


def dense_network(seed: int) -> BayesNet:
    """Eight variables of two or three categories that depend strongly on each other."""
    rng = np.random.default_rng([3940, seed])
    order = list(rng.permutation(list("abcdefgh")))
    sizes = {name: int(rng.integers(2, 4)) for name in "abcdefgh"}
    parents: dict[str, list[str]] = {name: [] for name in "abcdefgh"}
    while sum(map(len, parents.values())) < 10:
        place = int(rng.integers(1, 8))
        parent, given = order[int(rng.integers(0, place))], parents[order[place]]
        if parent not in given and len(given) < 3:
            given.append(parent)
    tables = {
        name: rng.dirichlet(np.full(sizes[name], 0.4), size=tuple(sizes[p] for p in given))
        for name, given in parents.items()
    }
    domain = Domain.of(**{name: [str(i) for i in range(size)] for name, size in sizes.items()})
    return BayesNet(domain, Structure.of(parents), tables)


@pytest.mark.calibration
def test_links_above_nine_tenths_are_mostly_there_where_variables_depend_strongly():
    """At p = .2 and 5,000 records nine of ten are (docs/learning-structure.md), false alarm 1e-6.

    The control: as many pairs drawn at random.
    """
    there, by_chance = [], []
    for seed in range(repetitions(8, 40)):
        network = dense_network(seed)
        true = {frozenset(link) for link in network.structure.links}
        learned = learn_structure(drawn(network, 0.2, 5_000, seed), draws=100)
        pairs = list(itertools.combinations(network.domain.names, 2))
        rng = np.random.default_rng(seed)
        for link in learned.links:
            if link.confidence is not None and link.confidence > 0.9:
                there.append(frozenset((link.parent, link.child)) in true)
                by_chance.append(frozenset(pairs[rng.integers(len(pairs))]) in true)
    least = stats.binom.ppf(1e-6, len(there), 0.9)
    assert len(there) >= 30
    assert sum(there) >= least
    assert sum(by_chance) < least


@pytest.mark.calibration
def test_links_from_noise_are_not_trusted():
    """Two independent variables: the few links that chance makes have little to stand on.

    Of samples of N = 500 a share of Pr(chi-square > log N) = 0.0127 is expected to make one:
    no more than the binomial's bound of 1e-6 allows, and at least one, without which 400 samples
    are once in 160 sets of seeds (the 1,500 of the campaign once in 10^8).
    """
    network, runs = weak_link(0.0), repetitions(400, 1500)
    found = [
        confidence_of(learn_structure(drawn(network, 0.2, 500, seed), search=PAIR, draws=100))
        for seed in range(runs)
    ]
    trust = [confidence for confidence in found if confidence is not None]
    low, high = stats.binom.ppf([1e-6, 1 - 1e-6], runs, stats.chi2.sf(math.log(500), 1))
    assert max(low, 1) <= len(trust) <= high
    assert np.median(trust) < 0.8
    assert max(trust) < 0.99


def test_plain_scores_make_links_of_noise_and_say_how_unsure_they_are():
    """Independent variables, much noise: the control to the default, which keeps none of them."""
    network = network_of({"X": "", "Y": "", "Z": ""}, {"X": [0.4], "Y": [0.7], "Z": [0.5]})
    search = Search(("X", "Y", "Z"), 2)
    plain, trusted, default = 0, [], 0
    for seed in range(20):
        marginals = drawn(network, 0.35, 5000, seed)
        learned = learn_structure(marginals, Scoring("bayesian"), search, draws=100)
        plain += len(learned.links)
        trusted += [link.confidence for link in learned.links if link.inflation > 20]
        default += len(learn_structure(marginals, search=search, draws=0).links)
    assert default <= 1
    assert plain >= 10
    assert np.median(trusted) < 0.9


# The same again -----------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("search", [Search(FOUR.structure.nodes), Search()], ids=["k2", "climb"])
def test_the_same_seed_gives_the_same_result(search: Search):
    one, again, two = (
        learn_structure(drawn(FOUR, 0.3, 3000, 5), search=search, draws=20, seed=seed)
        for seed in (1, 1, 2)
    )
    assert one == again
    assert one.structure == two.structure
    assert [link.gain for link in one.links] == [link.gain for link in two.links]
    assert one.links != two.links


@pytest.mark.slow
def test_the_order_of_sets_decides_nothing():
    """Python orders sets of names by a hash that is another in every process."""
    here = said_of_searches()
    assert here.count("LearnedLink") >= 6
    run = subprocess.run(
        [
            sys.executable,
            "-c",
            f"import {said_of_searches.__module__} as there\nprint(there.said_of_searches())",
        ],
        cwd=ROOT,
        env={
            **os.environ,
            "PYTHONHASHSEED": "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1",
        },
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout.rstrip("\n") == here


# Options ------------------------------------------------------------------------------------------


def test_only_wanted_children_get_parents():
    marginals = drawn(SIX, 0.1, 20_000, 6)
    order = SIX.structure.nodes
    some = learn_structure(marginals, search=Search(order), children=["D", "B"], draws=0)
    parents = some.structure.parents
    assert (set(parents["D"]), parents["B"]) == ({"B", "C"}, ("A",))
    assert not any(parents[node] for node in "ACEF")


@pytest.mark.slow
def test_steps_are_told_and_can_stop_it():
    marginals = drawn(FOUR, 0.1, 20_000, 7)
    for search in (Search(FOUR.structure.nodes), Search()):
        steps: list[tuple[int, int]] = []
        learn_structure(
            marginals, search=search, draws=0, on_step=lambda *s, seen=steps: seen.append(s)
        )
        assert len(steps) >= 4
        assert all(0 <= done <= total for done, total in steps)

        def stop(_done: int, _total: int) -> None:
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            learn_structure(marginals, search=search, draws=0, on_step=stop)


@pytest.mark.parametrize(
    ("options", "error", "says"),
    [
        ({"draws": -1}, OptionError, "draws must be at least 0 .*, not -1"),
        ({"seed": -1}, OptionError, "seed must be at least 0 .*, not -1"),
        ({"search": Search(("A", "B"))}, OptionError, r"missing \['C', 'D', 'E', 'F'\]"),
        ({"search": Search(tuple("ABCDEFG"))}, OptionError, r"unknown \['G'\]"),
        ({"children": ["A"]}, OptionError, "Only with an order"),
        (
            {"children": ["A", "Q"], "search": Search(tuple("ABCDEF"))},
            UnknownVariable,
            r"no variables \['Q'\]",
        ),
    ],
)
def test_what_cannot_be_learned_is_refused(
    options: dict[str, object], error: type[Exception], says: str
):
    with pytest.raises(error, match=says):
        learn_structure(drawn(SIX, 0.1, 1000, 8), **options)  # type: ignore[arg-type]


def test_tables_too_large_to_test_are_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("pramana_core.estimation.evidence.TEST_CELLS", 3)
    with pytest.raises(LimitExceeded, match="Allow fewer parents|fewer categories"):
        learn_structure(drawn(SIX, 0.1, 1000, 9), draws=0)


# Public networks ----------------------------------------------------------------------------------


def public(name: str) -> BayesNet:
    file = NETWORKS / f"{name}.bif"
    if not file.is_file():
        pytest.skip("the public networks are not here")
    return read_bif(file.read_text())


def sampled(
    network: BayesNet, p: float, records: int, seed: int
) -> tuple[EstimatedMarginals, Plan]:
    """Records drawn and randomized one by one, too many variables to list their distribution."""
    rng = np.random.default_rng(seed)
    codes = network.sample(records, rng)
    plan = Plan(
        tuple(
            Block((v,), Symmetric.from_probability(v.size, p) if p else Identity(v.size))
            for v in network.domain
        )
    )
    columns = {}
    for block in plan.blocks:
        bounds = np.cumsum(block.channel.matrix(), axis=1)[codes[block.name], :-1]
        columns[block.name] = (rng.random(records)[:, None] >= bounds).sum(axis=1).astype(np.uint8)
    return EstimatedMarginals(ReportedCounts(columns, plan.reported_sizes), plan), plan


class Expected:
    """The expected reports of a network under a plan, over any few of its variables."""

    def __init__(self, network: BayesNet, plan: Plan, records: int):
        self.network, self.plan, self.records = network, plan, records

    def table(self, names):
        seen = self.network.marginal(list(names)) * self.records
        for axis, name in enumerate(names):
            matrix = self.plan.block_of(name).channel.matrix()
            seen = np.moveaxis(np.tensordot(seen, matrix, (axis, 0)), -1, axis)
        return seen


@pytest.mark.public_data
@pytest.mark.calibration
@pytest.mark.parametrize(
    ("name", "most"), [("asia", 1), pytest.param("alarm", 4, marks=pytest.mark.campaign)]
)
def test_public_networks_are_found_along_their_order(name: str, most: int):
    """p = 0.1, N = 50,000: extra links at most 10 % of the true ones, and few missing.

    ALARM misses three links, more than twice the one that the clean sample misses: the search on
    clean records is near perfect, and these carry less evidence in the reports than their penalty.
    That is shown of every link missed: on the reports *expected*, it would be worth less than
    nothing beside the parents found (ALARM: -131, -85 and -48 nats).
    """
    network = public(name)
    search = Search(network.structure.order)
    distances = []
    for p in (0.0, 0.1):
        marginals, plan = sampled(network, p, 50_000, 1)
        found = learn_structure(marginals, search=search, draws=0).structure
        extra, missing = mistakes(found, network.structure)
        print(f"{name} p = {p}: {extra} extra, {missing} missing")
        distances.append(extra + missing)
        assert extra <= 0.1 * len(network.structure.links)
        judge = LikelihoodJudge(EstimatedMarginals(Expected(network, plan, 50_000), plan))
        for parent, child in set(network.structure.links) - set(found.links):
            given = frozenset(found.parents[child])
            assert value_of(judge.gain(child, given, parent)) < 0
    assert distances[1] <= most


def cyclic(seed: int, copies: int) -> EstimatedMarginals:
    """Binary columns a, b, c, z that share a hidden cause, each group shuffled by itself.

    With these seeds exchanging, dropping and adding parents of z can gain in a circle, because the
    gains are of different tables.
    """
    rng = np.random.default_rng(seed)
    records = int(rng.choice([300, 1000, 3000]))
    noise = {n: float(rng.choice([0.05, 0.15, 0.25, 0.35])) for n in "abcz"}
    hidden = rng.integers(0, 2, records)
    true = {n: hidden ^ (rng.random(records) < rng.uniform(0.1, 0.4)) for n in "abcz"}
    reports = {n: (c ^ (rng.random(records) < noise[n])).astype(np.uint8) for n, c in true.items()}
    columns, blocks = {}, []
    for group in range(copies):
        order = np.random.default_rng(group).permutation(records)
        for n in "abcz":
            columns[f"{n}{group}"] = reports[n][order]
            variable = Domain.of(**{f"{n}{group}": "01"}).variables
            blocks.append(Block(variable, Symmetric.from_probability(2, noise[n])))
    plan = Plan(tuple(blocks))
    return EstimatedMarginals(ReportedCounts(columns, plan.reported_sizes), plan)


@pytest.mark.slow
@pytest.mark.parametrize(
    "seed", [9, *(pytest.param(seed, marks=pytest.mark.campaign) for seed in (46, 87))]
)
def test_a_circle_of_gains_ends_where_links_are_worth_having(seed: int):
    marginals = cyclic(seed, 1)
    order = marginals.domain.names
    refined = learn_structure(marginals, search=Search(order), draws=0)
    published = learn_structure(marginals, search=Search(order, refine=False), draws=0)
    assert all(link.gain > 0 for link in refined.links)
    assert refined.structure.parents["z0"] == published.structure.parents["z0"] != ()
    free = learn_structure(marginals, draws=0)
    assert all(link.gain > 0 for link in free.links)


@pytest.mark.slow
def test_many_circles_end_soon():
    """Each circle is left alone: together they would take exponentially many steps."""
    steps = 0

    def count(_done: int, _total: int) -> None:
        nonlocal steps
        steps += 1
        assert steps < 300_000

    found = learn_structure(cyclic(9, 4), draws=0, on_step=count)
    assert all(link.gain > 0 for link in found.links)


def test_links_of_very_large_variables_have_an_inflation():
    """A full-record channel over 10,000 cells is never listed; its inflation has a closed form."""
    domain = Domain.of(**{n: [str(i) for i in range(10)] for n in "abcd"})
    rng = np.random.default_rng(1)
    a = rng.integers(0, 10, 300_000)
    columns = {n: rng.integers(0, 10, 300_000).astype(np.uint8) for n in "abcd"}
    columns["a"], columns["b"] = a.astype(np.uint8), a.astype(np.uint8)
    joint = Plan((Block(domain.variables, Symmetric.from_gamma(10_000, 4000.0)),))
    marginals = EstimatedMarginals(ReportedCounts(columns, joint.reported_sizes), joint)
    small = Plan((Block(domain.variables[:2], joint.blocks[0].restrict(["a", "b"])),))
    pair = {n: columns[n] for n in "ab"}
    alone = EstimatedMarginals(ReportedCounts(pair, small.reported_sizes), small)
    found = marginals.independence(["a"], ["b"], []).inflation
    assert 1 < found == pytest.approx(alone.independence(["a"], ["b"], []).inflation, rel=1e-9)
