"""What models are worth: expected accuracy against true records, and findings against chance."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from pramana_core.channels import RESOLUTION, Choice, Sampled, Symmetric
from pramana_core.domain import Domain, Variable
from pramana_core.estimation.estimated import EstimatedMarginals
from pramana_core.learn.common.options import RuleOptions
from pramana_core.learn.common.worth import compared
from pramana_core.learn.learners import LEARNERS
from pramana_core.learn.networks.structure import Structure
from pramana_core.learn.rules.itemsets import items_of
from pramana_core.learn.rules.mining import mine_itemsets
from pramana_core.learn.rules.rules import derive_rules
from pramana_core.learn.worth import (
    _Judge,
    classifier_worth,
    rules_worth,
    structure_worth,
    table_worth,
)
from pramana_core.marginals.counts import ReportedCounts
from pramana_core.marginals.passes import JointCounts, PartitionedCounts, counted_here, half_of
from pramana_core.plan import Block, Plan

FEATURES = ("a", "b", "c")
DOMAIN = Domain(tuple(Variable(name, ("0", "1", "2")) for name in (*FEATURES, "y")))
SIZES = dict(zip(DOMAIN.names, DOMAIN.shape, strict=True))
INDEPENDENT = Plan(tuple(Block((v,), Symmetric.from_probability(3, 0.15)) for v in DOMAIN))
PAIRS = Plan(
    (
        Block(
            tuple(DOMAIN),
            Sampled(
                DOMAIN.shape,
                tuple(
                    Choice((axis, 3), RESOLUTION // 3, Symmetric.from_gamma(9, 19.0))
                    for axis in range(3)
                ),
            ),
        ),
    )
)
"""Each record reports one feature and the class."""


def people(records: int, seed: int, told: float = 0.4) -> dict[str, np.ndarray]:
    """Records whose features repeat the class with a probability, by themselves given the class."""
    rng = np.random.default_rng(seed)
    found = {"y": rng.choice(3, records, p=[0.5, 0.3, 0.2])}
    for name in FEATURES:
        repeats = rng.random(records) < told
        found[name] = np.where(repeats, found["y"], rng.integers(0, 3, records))
    return found


def reports(true: dict[str, np.ndarray], plan: Plan, seed: int) -> EstimatedMarginals:
    rng = np.random.default_rng(seed)

    def noisy(codes: np.ndarray, size: int, channel: Symmetric) -> np.ndarray:
        kept = rng.random(len(codes)) < channel.mixture[0]
        return np.where(kept, codes, rng.integers(0, size, len(codes)))

    if plan is INDEPENDENT:
        codes = {b.names[0]: noisy(true[b.names[0]], 3, b.channel) for b in plan.blocks}
        estimator = "moment"
    else:
        (block,), estimator = plan.blocks, "pooled"
        chosen = rng.integers(0, 3, len(true["y"]))
        both = noisy(
            3 * np.choose(chosen, [true[n] for n in FEATURES]) + true["y"],
            9,
            block.channel.choices[0].channel,
        )
        codes = {n: np.where(chosen == i, both // 3, 3) for i, n in enumerate(FEATURES)}
        codes["y"] = both % 3
    columns = {name: codes[name].astype(np.uint8) for name in DOMAIN.names}
    counts = ReportedCounts(columns, plan.reported_sizes)
    return EstimatedMarginals(counts, plan, estimator=estimator)


def test_halves_are_all_records_whatever_the_pieces():
    columns = {name: codes.astype(np.uint8) for name, codes in people(1001, 1).items()}
    whole = ReportedCounts(columns, SIZES)

    def piece(start: int, stop: int):
        return lambda names: ReportedCounts(
            {name: columns[name][start:stop] for name in names},
            {name: SIZES[name] for name in names},
            lambda: np.arange(start, stop),
        )

    pieces = [piece(0, 600), piece(600, 1000), piece(1000, 1001)]
    parted = PartitionedCounts(SIZES, 1001, lambda asked, tick: counted_here(pieces, asked, tick))
    found = []
    for counts in (whole, parted):
        halves = [half_of(counts, list(SIZES), half) for half in (0, 1)]
        assert abs(halves[0].records - halves[1].records) < 20
        tables = [half.table(["a", "y"]) for half in halves]
        assert [table.sum() for table in tables] == [half.records for half in halves]
        assert (sum(tables) == whole.table(["a", "y"])).all()
        found.append(tables)
    assert np.array_equal(*found)
    asked = JointCounts((("a",), ("b", "y")))
    first, second = (half_of(whole, list(SIZES), half).counted(asked) for half in (0, 1))
    for one, other, both in zip(first, second, whole.counted(asked), strict=True):
        assert (one + other == both).all()


@pytest.fixture(scope="module", params=LEARNERS)
def learner(request):
    return LEARNERS[request.param]


def scored(learner, plan: Plan, seed: int, told: float, records: int):
    marginals = reports(people(records, seed, told), plan, seed + 1)
    model = learner.learn(marginals, "y", None, learner.options())
    worth = learner.worth(marginals, model)
    fresh = people(20_000, seed + 2, told)
    right = float((model.predict({n: fresh[n] for n in FEATURES}) == fresh["y"]).mean())
    return worth, right


RUNS = 40


@pytest.mark.slow
@pytest.mark.parametrize("plan", [INDEPENDENT, PAIRS], ids=["independent", "pairs"])
def test_the_interval_holds_the_accuracy_on_other_people(learner, plan):
    held, narrow, runs = 0, 0, RUNS if plan is INDEPENDENT else 10
    for seed in range(0, 10 * runs, 10):
        worth, right = scored(learner, plan, seed, 0.5, 6000)
        accuracy, majority, plain, gain = worth.figures
        held += accuracy.low <= right <= accuracy.high
        narrow += abs(right - accuracy.value) <= (accuracy.high - accuracy.low) / 8
        assert majority.value == pytest.approx(0.5, abs=0.1)
        assert plain.value == pytest.approx(right, abs=0.15)
        assert gain.value == pytest.approx(accuracy.value - majority.value, abs=0.05)
        # Of pairs of a column and the class, a model of several columns supposes something.
        assert plan is PAIRS or not worth.supposes
    enough = binom.ppf(1e-6, runs, 0.93)
    assert held >= enough
    assert plan is PAIRS or narrow < enough, "a quarter of the interval would not do"


@pytest.mark.slow
def test_columns_that_say_nothing_are_no_better_than_guessing(learner):
    better = 0
    for seed in range(0, 10 * RUNS, 10):
        worth, _ = scored(learner, INDEPENDENT, seed, 0.0, 3000)
        better += worth.figures[-1].low > 0
    assert better <= binom.ppf(1 - 1e-6, RUNS, 0.025)


@pytest.mark.slow
@pytest.mark.parametrize(("size", "records"), [(100, 3000), (300, 20_000)])
def test_many_noisy_categories_that_say_nothing_are_no_better_than_guessing(size, records):
    """The model's own score is the control: without other records it claims a gain."""
    variables = Variable("y", ("a", "b")), Variable("x", tuple(map(str, range(size))))
    blocks = tuple(Block((v,), Symmetric.from_gamma(v.size, 19.0)) for v in variables)
    plan, learner = Plan(blocks), LEARNERS["bayes-classifier"]
    better = claimed = held = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        codes = {}
        for block, share in zip(blocks, (0.4, None), strict=True):
            found = (
                rng.integers(size, size=records) if share is None else rng.random(records) < share
            )
            rows = block.channel.matrix().cumsum(axis=1)[found.astype(int)]
            drawn = (rng.random(records)[:, None] >= rows[:, :-1]).sum(axis=1)
            codes[block.names[0]] = drawn.astype(np.uint16)
        counts = ReportedCounts(codes, plan.reported_sizes)
        marginals = EstimatedMarginals(counts, plan, estimator="moment")
        model = learner.learn(marginals, "y", None, learner.options())
        accuracy, _, _, gain = learner.worth(marginals, model).figures
        predicted = model.predict({"x": np.arange(size)})
        held += accuracy.low <= np.where(predicted == 0, 0.6, 0.4).mean() <= accuracy.high
        better += gain.low > 0
        judge = _Judge(marginals, "y", ("x",))
        claimed += judge.right(model, 0).on(judge) > 0.65
    assert better <= binom.ppf(1 - 1e-6, 20, 0.025)
    assert held >= binom.ppf(1e-6, 20, 0.93)
    assert claimed > binom.ppf(1 - 1e-6, 20, 0.025)


def test_columns_that_say_much_are_better_than_guessing():
    worth, right = scored(LEARNERS["bayes-classifier"], PAIRS, 3, 0.8, 4000)
    assert worth.figures[-1].low > 0.1
    assert worth.figures[0].low <= right <= worth.figures[0].high
    assert worth.supposes


class Constant:
    """A model that predicts the first class, the majority, by columns without a joint report."""

    inputs, used, target = DOMAIN.project(FEATURES), FEATURES, DOMAIN["y"]

    def predict(self, codes):
        return np.zeros(len(codes["a"]), int)


def test_the_accuracy_of_a_constant_model_has_the_error_of_the_share_of_the_majority():
    marginals, model = reports(people(6000, 5), PAIRS, 6), Constant()
    worth = classifier_worth(marginals, model, lambda _half: model)
    classes = marginals.marginal(["y"])
    error = float(classes.standard_error(population=True)[0]) / classes.records
    accuracy, majority, _, gain = worth.figures
    assert accuracy.high - majority.value == pytest.approx(1.96 * error, rel=1e-3)
    assert majority.value - accuracy.low == pytest.approx(1.96 * error, rel=1e-3)
    assert accuracy.value == pytest.approx(majority.value, abs=1e-9)
    assert gain.low == gain.value == gain.high == 0


class Seldom(Constant):
    """A model that predicts the second class where `a` is 0, by columns without a joint report."""

    def predict(self, codes):
        return (codes["a"] == 0).astype(int)


def test_the_share_of_other_predictions_than_the_majority_includes_its_error():
    marginals, model = reports(people(6000, 5), PAIRS, 6), Seldom()
    share = _Judge(marginals, "y", FEATURES).right(model, 0)
    assert share.spread > 0
    found = marginals.marginal(["a"])
    other = float(found.counts[0]) / found.records
    error = float(found.standard_error(population=True)[0]) / found.records
    assert other + 1.5 * error < share.minor < other + 3 * error


@pytest.mark.parametrize(
    ("gain", "verdict"),
    [
        ((0.1, 0.08, 0.12), "Better than guessing by 8 to 12 points."),
        ((-0.1, -0.12, -0.08), "Worse than guessing by 8 to 12 points."),
    ],
)
def test_a_verdict_has_the_ends_of_the_gain(gain, verdict):
    assert compared(gain, "guessing") == verdict


def test_links_and_cells_are_held_against_chance():
    seen = reports(people(4000, 5, 0.6), INDEPENDENT, 6)
    linked = structure_worth(seen, Structure.of({"y": [], "a": ["y"], "b": [], "c": []}))
    assert [f.value for f in linked.figures[:1]] == [1]
    assert 0 < linked.figures[1].value < 0.1
    assert linked.figures[2].value < 1e-6
    assert all(f.value < 0.001 for f in table_worth(seen, ["a", "b", "y"]).figures)
    nothing = reports(people(4000, 7, 0.0), INDEPENDENT, 8)
    unlinked = structure_worth(nothing, Structure.of({"y": [], "a": ["y"], "b": [], "c": []}))
    assert unlinked.figures[2].value > 0.001
    assert table_worth(nothing, ["a", "y"]).figures[0].value > 0.001
    assert table_worth(nothing, ["a"]) is None


def test_rules_of_independent_columns_are_no_more_than_chance_gives():
    options = RuleOptions(0.05, max_length=2)
    for told, more in ((0.0, False), (0.8, True)):
        seen = reports(people(6000, 9, told), INDEPENDENT, 10)
        found = mine_itemsets(seen, items_of(DOMAIN), options)
        rules = derive_rules(found, seen, 0.2)
        total, shown, chance, alone = (f.value for f in rules_worth(options, rules, 0.2).figures)
        assert total == len(rules) > 10
        assert (shown > 0.5 * total) == more
        assert chance == pytest.approx(0.05 * total)
        assert (alone > 0.8 * total) == (not more)
    assert rules_worth(options, (), 0.2).figures[0].value == 0
