"""Trees: their size, their rules and their nodes as frames."""

from __future__ import annotations

import numpy as np
from sklearn.preprocessing import OrdinalEncoder
from sklearn.tree import DecisionTreeClassifier

import pramana as pm
from tests.pramana.estimators.aboard import clean, fitted, people

ID3 = {"significance": None, "least_records": 0, "prune": False, "shrinkage": None}


def test_of_true_binary_columns_it_is_scikit_learns():
    frame, names = people(), ["age", "sex"]
    ours = pm.DecisionTree("survived", names, **ID3).fit(frame, clean())  # type: ignore[arg-type]
    codes = OrdinalEncoder().fit_transform(frame[names])
    theirs = DecisionTreeClassifier(criterion="entropy", random_state=0)
    theirs.fit(codes, frame["survived"])
    assert (ours.get_depth(), ours.get_n_leaves()) == (theirs.get_depth(), theirs.get_n_leaves())
    assert np.allclose(ours.predict_proba(frame), theirs.predict_proba(codes), atol=1e-12)
    assert np.allclose(ours.feature_importances_, theirs.feature_importances_, atol=1e-12)
    first = ours.to_frame().loc[0, "asks"]
    assert first == names[theirs.tree_.feature[0]]


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


def test_rules_with_weights_say_their_errors():
    text = fitted("DecisionTree", noisy=True).to_text(show_weights=True, max_depth=1)
    assert "bits" in text
    assert "95 %" in text
