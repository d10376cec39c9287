"""Bayesian classifiers are those of the textbook on clean counts, and stand the noise of others."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from sklearn.naive_bayes import CategoricalNB

from pramana_core.learn.bayes_classifier.learning import learn_bayes_classifier
from pramana_core.learn.common.options import BayesClassifierOptions
from pramana_core.marginals.counts import Marginals
from tests.shared.learn.bayes_classifier.bayes_cases import (
    DOMAIN,
    FEATURES,
    counted,
    drawn,
    reported,
)


def matrix(columns):
    return np.stack([columns[name] for name in FEATURES], axis=1)


@pytest.mark.parametrize("alpha", [0.1, 1.0, 7.0])
def test_on_clean_counts_it_is_the_categorical_naive_bayes_of_scikit_learn(alpha: float):
    columns, others = drawn(400), drawn(300, seed=9)
    options = BayesClassifierOptions("naive-bayes", alpha=alpha)
    model = learn_bayes_classifier(counted(columns), "kind", FEATURES, options)
    sizes = [DOMAIN[name].size for name in FEATURES]
    peer = CategoricalNB(alpha=alpha, min_categories=sizes)
    peer.fit(matrix(columns), columns["kind"])
    assert model.probabilities(others) == pytest.approx(
        peer.predict_proba(matrix(others)), abs=1e-12
    )
    assert (model.predict(others) == peer.predict(matrix(others))).all()


def conditional_information(columns, first: str, second: str) -> float:
    """Return I(first; second | kind) by its definition, record by record."""
    n = len(columns["kind"])
    k, a, b = (columns[name].astype(int) for name in ("kind", first, second))
    total = 0.0
    for c, x, y in set(zip(k.tolist(), a.tolist(), b.tolist(), strict=True)):
        both = np.sum((k == c) & (a == x) & (b == y))
        ratio = both * np.sum(k == c) / (np.sum((k == c) & (a == x)) * np.sum((k == c) & (b == y)))
        total += both / n * math.log(ratio)
    return total


def test_the_tree_is_the_best_of_all_trees():
    """All 16 spanning trees of four attributes, by brute force (Friedman et al. 1997, 4.1)."""
    columns = drawn(500)
    options = BayesClassifierOptions("tan")
    model = learn_bayes_classifier(counted(columns), "kind", None, options)
    pairs = list(itertools.combinations(FEATURES, 2))
    told = {pair: conditional_information(columns, *pair) for pair in pairs}

    def spans(tree) -> bool:
        joined = {FEATURES[0]}
        for _ in tree:
            joined |= {n for pair in tree if set(pair) & joined for n in pair}
        return joined == set(FEATURES)

    trees = [tree for tree in itertools.combinations(pairs, 3) if spans(tree)]
    assert len(trees) == 16
    best = max(trees, key=lambda tree: sum(told[pair] for pair in tree))
    assert {frozenset(link) for link in model.links} == {frozenset(pair) for pair in best}
    assert max(len(attribute.parents) for attribute in model.attributes) == 1


def test_auto_has_the_true_links_of_many_clean_records_and_none_of_noise():
    clean = learn_bayes_classifier(counted(drawn(20_000)), "kind")
    assert {frozenset(link) for link in clean.links} == {
        frozenset({"colour", "size"}),
        frozenset({"size", "shape"}),
    }
    assert clean.model == "tan"
    noisy = learn_bayes_classifier(reported(drawn(600), 0.45), "kind")
    assert (noisy.model, noisy.links) == ("naive-bayes", ())


def test_parameters_and_their_errors_are_those_of_a_network():
    """The same counts, by the learner of networks of known structure."""
    from pramana_core.learn.networks.bayes_net import learn_parameters

    marginals = reported(drawn(4000), 0.2)
    model = learn_bayes_classifier(marginals, "kind", None, BayesClassifierOptions("tan"))
    peer = learn_parameters(marginals, model.learned.structure)
    for own, other in zip(model.learned.families, peer.families, strict=True):
        assert own.node == other.node
        for name in ("estimate", "se", "se_records", "low", "high"):
            np.testing.assert_array_equal(getattr(own, name), getattr(other, name))


def test_tables_of_naive_bayes_are_of_the_class_and_one_attribute():
    """What no record reports together is not asked for."""
    asked: list[tuple[str, ...]] = []
    known = counted(drawn(50))

    class Watched:
        domain, records, unbiased = known.domain, known.records, known.unbiased

        def marginal(self, variables):
            asked.append(tuple(variables))
            return known.marginal(variables)

    marginals: Marginals = Watched()  # type: ignore[assignment]
    learn_bayes_classifier(marginals, "kind", None, BayesClassifierOptions("naive-bayes"))
    assert set(asked) == {("kind",), *(("kind", name) for name in FEATURES)}
