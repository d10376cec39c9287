"""Conjunctive rules."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from pramana_core.domain import Variable
from pramana_core.errors import EmptyTable, ModelError
from pramana_core.mixed import CategoricalColumn, MixedTable, NumericColumn
from pramana_core.model_sharing.attributes import CategoricalAttribute, NumericAttribute, TreeSchema
from pramana_core.model_sharing.conditions import Interval, Values
from pramana_core.model_sharing.global_models.conjunctive import RuleModel, learn_rule

SCHEMA = TreeSchema(
    Variable("class", ("no", "yes")),
    (
        CategoricalAttribute("colour", ("red", "green", "blue")),
        NumericAttribute("size", 0, 10),
        CategoricalAttribute("noise", ("x", "y")),
    ),
)


def grid() -> MixedTable:
    cells = np.array(list(itertools.product(range(3), range(11), range(2), range(5))))
    return MixedTable(
        (
            CategoricalColumn("colour", cells[:, 0], ("red", "green", "blue")),
            NumericColumn("size", cells[:, 1]),
            CategoricalColumn("noise", cells[:, 2], ("x", "y")),
        ),
        len(cells),
    )


def truth(table: MixedTable) -> np.ndarray:
    return ((table["colour"].codes == 1) & (table["size"].values > 3)).astype(np.intp)


@pytest.mark.parametrize("seed", range(5))
def test_a_rule_that_holds_without_exception_is_found(seed):
    table = grid()
    classes = truth(table)
    rule = learn_rule(SCHEMA, table, classes, seed=seed)
    assert dict(rule.conditions) == {"colour": Values((1,)), "size": Interval(3.5, math.inf)}
    assert (rule.predict(table) == classes).all()
    covered = int(classes.sum())
    assert rule.covered == (0.0, covered)
    assert rule.others == (len(classes) - covered, 0.0)


def test_the_first_condition_is_the_best_of_all_by_brute_force():
    rng = np.random.default_rng(4)
    table = grid()
    classes = rng.binomial(1, 0.2 + 0.5 * truth(table)).astype(np.intp)
    rule = learn_rule(SCHEMA, table, classes)
    every = [("colour", Values((c,))) for c in range(3)] + [
        ("noise", Values((c,))) for c in range(2)
    ]
    for end in np.arange(10) + 0.5:
        every += [("size", Interval(up_to=end)), ("size", Interval(above=end))]

    def bits(mask: np.ndarray) -> float:
        shares = [classes[mask].mean(), 1 - classes[mask].mean()]
        return -mask.sum() * sum(p * math.log2(p) for p in shares if p)

    def missing(asked: tuple) -> float:
        mask = asked[1].holds(table[asked[0]])
        return bits(mask) + bits(~mask)

    assert rule.conditions[0][0] in ("colour", "size")
    name, condition = min(every, key=missing)
    known = dict(rule.conditions)[name]
    assert known == condition or (condition.above, condition.up_to) in (
        (known.above, math.inf),
        (-math.inf, known.up_to),
    )


def test_both_sides_keep_a_number_of_records():
    table = grid()
    classes = (table["size"].values > 9.5).astype(np.intp)
    rule = learn_rule(SCHEMA, table, classes, min_leaf=40)
    assert sum(rule.covered) >= 40
    with_all = learn_rule(SCHEMA, table, classes, min_leaf=300)
    assert with_all.conditions == ()
    assert (with_all.predict(table) == 0).all()


def test_one_class_one_record_and_columns_that_do_not_vary():
    table = grid()
    rule = learn_rule(SCHEMA, table, np.ones(table.records, dtype=np.intp))
    assert rule.conditions == ()
    assert (rule.probabilities(table) == [0, 1]).all()
    one = learn_rule(SCHEMA, table.rows(np.array([5])), np.array([0]))
    assert (one.predict(table) == 0).all()
    still = table.rows(np.zeros(20, dtype=np.intp))
    rule = learn_rule(SCHEMA, still, np.arange(20) % 2)
    assert rule.conditions == ()
    with pytest.raises(EmptyTable):
        learn_rule(SCHEMA, table.rows(np.zeros(table.records, dtype=bool)), np.zeros(0, np.intp))


def test_rules_that_cannot_be_are_refused():
    asked = (("colour", Values((1,))),)
    assert RuleModel(SCHEMA, asked, (1, 2), (3, 4))
    for conditions, covered, others in [
        (asked * 2, (1, 2), (3, 4)),
        ((("price", Values((1,))),), (1, 2), (3, 4)),
        (asked, (1, 2, 3), (3, 4)),
        (asked, (1, -1), (3, 4)),
        (asked, (1, math.nan), (3, 4)),
        (asked, (0, 0), (0, 0)),
    ]:
        with pytest.raises(ModelError):
            RuleModel(SCHEMA, conditions, covered, others)


def test_a_side_without_records_predicts_as_the_other():
    table = grid()
    asked = (("colour", Values((1,))),)
    assert (RuleModel(SCHEMA, asked, (0, 0), (1, 3)).probabilities(table) == [0.25, 0.75]).all()
    assert (RuleModel(SCHEMA, asked, (1, 3), (0, 0)).probabilities(table) == [0.25, 0.75]).all()


def test_conditions_that_held_out_records_do_not_bear_out_are_cut_back():
    """Classes by chance: most rules keep no condition; without held-out records nearly all do."""
    kept = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        columns = (
            CategoricalColumn("colour", rng.integers(0, 3, 300), ("red", "green", "blue")),
            NumericColumn("size", rng.uniform(0, 10, 300)),
            CategoricalColumn("noise", rng.integers(0, 2, 300), ("x", "y")),
        )
        table = MixedTable(columns, 300)
        kept.append(len(learn_rule(SCHEMA, table, rng.integers(0, 2, 300)).conditions))
    assert np.mean(kept) < 0.65
