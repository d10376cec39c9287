"""Trees: their size, their rules and their nodes as frames."""

from __future__ import annotations

import numpy as np

import pramana as pm
from tests.pramana.estimators.aboard import clean, fitted, people


def test_the_frame_is_the_tree():
    tree = fitted("DecisionTree", noisy=True)
    frame = tree.to_frame()
    leaves = frame[frame["asks"].isna()]
    assert len(frame) == len(list(tree.model_.root))
    assert len(leaves) == tree.get_n_leaves()
    assert frame["depth"].max() == tree.get_depth()
    lines = tree.to_text(show_weights=True).splitlines()
    assert list(leaves["class"]) == [
        line.rpartition(": ")[2] for line in lines if "|--- class: " in line
    ]
    for node, row in frame.iloc[1:].iterrows():
        parent = frame.loc[row["parent"]]
        assert row["parent"] < node
        assert row["when"].startswith(f"{parent['asks']} = ")
        assert row["depth"] == parent["depth"] + 1
    shares = frame[["probability_no", "probability_yes"]].sum(axis=1)
    assert np.allclose(shares, 1)
    assert np.allclose(frame["count_no"] + frame["count_yes"], frame["records"])
    assert (frame["se_population_yes"] >= frame["se_records_yes"]).all()


def test_a_tree_that_asks_nothing():
    tree = pm.DecisionTree("survived", max_depth=0).fit(people(), clean())
    assert (tree.get_depth(), tree.get_n_leaves()) == (0, 1)
    assert len(tree.to_frame()) == 1
    assert tree.to_text() == "|--- class: no\n"
    assert list(tree.feature_importances_) == [0, 0, 0]
    assert set(tree.predict(people())) == {"no"}
