"""Scores and gains: equal to an independent library on clean counts, and to closed forms."""

from __future__ import annotations

import itertools
import math
import warnings
from types import ModuleType

import numpy as np
import pandas as pd
import pytest

from pramana_core.channels import Symmetric
from pramana_core.domain import Domain
from pramana_core.estimation.estimated import EstimatedMarginals
from pramana_core.learn.common.options import Scoring
from pramana_core.learn.networks.gains import value_of
from pramana_core.learn.networks.scores import LikelihoodJudge, PlainJudge, nonnegative
from pramana_core.marginals.counts import ReportedCounts
from pramana_core.plan import Block, Plan
from tests.shared.learn.cases import Table

DOMAIN = Domain.of(a="xy", b="123", c="pq", d="0123")
RECORDS = 600


def records_of(seed: int = 1, size: int = RECORDS) -> dict[str, np.ndarray]:
    """Codes of dependent variables, every combination of which occurs."""
    rng = np.random.default_rng(seed)
    cells = rng.choice(DOMAIN.size, size=size, p=rng.dirichlet(np.full(DOMAIN.size, 4.0)))
    cells[: DOMAIN.size] = np.arange(DOMAIN.size)
    codes = np.unravel_index(cells, DOMAIN.shape)
    return {n: c.astype(np.uint8) for n, c in zip(DOMAIN.names, codes, strict=True)}


def clean(columns: dict[str, np.ndarray]) -> EstimatedMarginals:
    plan = Plan.unrandomized(DOMAIN)
    return EstimatedMarginals(ReportedCounts(columns, plan.reported_sizes), plan)


def noisy(seed: int, records: int = 3000) -> EstimatedMarginals:
    plan = Plan(tuple(Block((v,), Symmetric.from_probability(v.size, 0.2)) for v in DOMAIN))
    rng = np.random.default_rng(seed)
    seen = rng.dirichlet(np.full(DOMAIN.size, 1.0)).reshape(DOMAIN.shape)
    for axis, block in enumerate(plan.blocks):
        seen = block.channel.apply(seen, axis)
    drawn = rng.multinomial(records, seen.ravel()).reshape(DOMAIN.shape)
    return EstimatedMarginals(Table(DOMAIN.names, drawn), plan)


def families(most: int = 3) -> list[tuple[str, tuple[str, ...]]]:
    return [
        (child, parents)
        for child in DOMAIN.names
        for size in range(most + 1)
        for parents in itertools.combinations([n for n in DOMAIN.names if n != child], size)
    ]


@pytest.fixture(scope="module")
def pgmpy() -> ModuleType:
    """An independent library; what it warns of on import would here be an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import pgmpy
        import pgmpy.estimators
        import pgmpy.models
        import pgmpy.structure_score
    return pgmpy


def frame(columns: dict[str, np.ndarray]) -> pd.DataFrame:
    return pd.DataFrame({v.name: [v.categories[code] for code in columns[v.name]] for v in DOMAIN})


STATES = {v.name: list(v.categories) for v in DOMAIN}


@pytest.mark.slow
def test_scores_equal_an_independent_library(pgmpy: ModuleType):
    """With alpha = 1 the Bayesian score is K2's."""
    columns = records_of()
    marginals = clean(columns)
    peer = pgmpy.structure_score
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        table = frame(columns)
        pairs = [
            (Scoring("bic"), peer.BIC(table, state_names=STATES)),
            (Scoring("bayesian"), peer.K2(table, state_names=STATES)),
            (Scoring("bdeu"), peer.BDeu(table, state_names=STATES)),
            (
                Scoring("bdeu", equivalent_sample_size=3),
                peer.BDeu(table, equivalent_sample_size=3, state_names=STATES),
            ),
        ]
        for scoring, theirs in pairs:
            judge = PlainJudge(marginals, scoring)
            for child, parents in families():
                wanted = theirs.local_score(child, parents)
                assert judge.score(child, frozenset(parents)) == pytest.approx(wanted, rel=1e-9)


@pytest.mark.parametrize("name", ["bic", "bayesian", "bdeu"])
def test_eta_demands_a_share_of_the_score(name: str):
    """A parent is added if new > eta * old: with scores of -100 and -96, up to eta = 0.96."""
    marginals = clean(records_of())
    plain = PlainJudge(marginals, Scoring(name))
    for child, given in families(2):
        for parent in set(DOMAIN.names) - {child, *given}:
            old = plain.score(child, frozenset(given))
            new = plain.score(child, frozenset(given) | {parent})
            assert old < 0
            for eta in (1.0, 0.97, 0.5):
                judge = PlainJudge(marginals, Scoring(name, eta=eta))
                gain = value_of(judge.gain(child, frozenset(given), parent))
                assert gain == pytest.approx(new - eta * old, rel=1e-9, abs=1e-9)
                assert (gain > 0) == (new > eta * old)


def test_scores_of_estimates_use_the_nearest_valid_counts():
    tables = np.array([[[5.0, -1], [3, 3]], [[2, 2], [2, 4]]])
    counts = nonnegative(tables, 10)
    np.testing.assert_allclose(counts[1], tables[1])
    # The excess of 1 is taken evenly off the others.
    np.testing.assert_allclose(counts[0], np.array([[14 / 3, 0], [8 / 3, 8 / 3]]))
    marginals = noisy(5, 300)
    raw = marginals.marginal(["a", "b", "c", "d"]).counts
    assert raw.min() < 0
    score = PlainJudge(marginals, Scoring("bayesian")).score("d", frozenset("abc"))
    valid = nonnegative(raw[None], 300)[0]
    again = EstimatedMarginals(Table(DOMAIN.names, valid), Plan.unrandomized(DOMAIN))
    assert score == pytest.approx(
        PlainJudge(again, Scoring("bayesian")).score("d", frozenset("abc"))
    )


@pytest.mark.parametrize("name", ["bic", "bayesian", "bdeu"])
def test_resampled_gains_are_the_gains_of_the_resampled_records(name: str):
    marginals = clean(records_of())
    judge = PlainJudge(marginals, Scoring(name, eta=0.98))
    gains = judge.resampled("d", frozenset("a"), "c", 5, np.random.default_rng(6))
    share = marginals.marginal(["a", "c", "d"]).counts
    rng = np.random.default_rng(6)
    for gain, drawn in zip(
        gains, rng.multinomial(RECORDS, share.ravel() / RECORDS, size=5), strict=True
    ):
        domain = DOMAIN.project(["a", "c", "d"])
        fresh = EstimatedMarginals(
            Table(domain.names, drawn.reshape(domain.shape)), Plan.unrandomized(domain)
        )
        wanted = PlainJudge(fresh, Scoring(name, eta=0.98)).gain("d", frozenset("a"), "c")
        assert gain == pytest.approx(value_of(wanted), rel=1e-9, abs=1e-9)


def structure(of_d: str) -> dict[str, frozenset[str]]:
    return {name: frozenset(of_d if name == "d" else "") for name in DOMAIN.names}


# The likelihood of the reports --------------------------------------------------------------------


def test_on_clean_records_the_default_is_the_bic():
    marginals = clean(records_of())
    judge, bic = LikelihoodJudge(marginals), PlainJudge(marginals, Scoring("bic"))
    for child, given in families(2):
        parents = frozenset(given)
        for parent in set(DOMAIN.names) - {child, *given}:
            wanted = bic.score(child, parents | {parent}) - bic.score(child, parents)
            assert value_of(judge.gain(child, parents, parent)) == pytest.approx(wanted, abs=1e-6)
    first, second = structure("ab"), structure("c")
    wanted = bic.score("d", frozenset("ab")) - bic.score("d", frozenset("c"))
    for one in (judge, bic):
        assert one.better(first, second) == pytest.approx(wanted, abs=1e-6)
        assert one.better(second, first) == pytest.approx(-wanted, abs=1e-6)
        assert one.better(first, first) == 0


@pytest.fixture
def bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small tables are bounded by a few steps too, and not maximized at once."""
    monkeypatch.setattr("pramana_core.estimation.evidence._SMALL", 0)


@pytest.mark.usefixtures("bounded")
def test_gains_are_the_ratio_less_the_penalty_and_bounded_on_the_way():
    marginals = noisy(7)
    for child, given in families(2):
        for parent in set(DOMAIN.names) - {child, *given}:
            gain = LikelihoodJudge(marginals).gain(child, frozenset(given), parent)
            evidence = marginals.independence([child], [parent], list(given))
            penalty = math.log(3000) / 2 * evidence.degrees_of_freedom
            exact = evidence.ratio - penalty
            uppers = []
            while gain.lower < gain.upper:
                assert gain.lower <= exact + 1e-9
                assert gain.upper >= exact - 1e-9
                gain.sharpen()
                uppers.append(gain.upper)
            assert uppers == sorted(uppers, reverse=True)
            assert gain.upper == pytest.approx(exact, abs=1e-3)


@pytest.mark.usefixtures("bounded")
def test_an_exchange_compares_both_sets_on_one_table():
    marginals = noisy(9)

    def ratio(dropped: frozenset[str], kept: frozenset[str]) -> float:
        evidence = marginals.independence(["d"], sorted(dropped), sorted(kept))
        return evidence.ratio - math.log(3000) / 2 * evidence.degrees_of_freedom

    for given, old, new in [("a", "a", "b"), ("ab", "a", "c"), ("ac", "c", "b")]:
        parents = frozenset(given)
        exchange = LikelihoodJudge(noisy(9)).exchange("d", parents, old, new)
        assert exchange is not None
        after = parents - {old} | {new}
        wanted = ratio(after - parents, parents) - ratio(parents - after, after)
        while exchange.lower < exchange.upper:
            assert exchange.upper >= wanted - 1e-3
            exchange.sharpen()
        assert exchange.upper == pytest.approx(wanted, abs=1e-3)
