"""`pm.combine_trees` and `pm.CombinedTrees`: messages of any form in, an estimator out."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import pramana as pm

METHODS = ["pgen", "basegen", "labelled", "votes"]


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    return pm.example("titanic")


@pytest.fixture(scope="module")
def trees(people: pd.DataFrame) -> list[pm.SharedModel]:
    return [pm.share_tree(people.iloc[k::2], "survived", 20) for k in (0, 1)]


@pytest.mark.parametrize("method", METHODS)
def test_every_method_predicts_and_is_saved(method: str, trees, people, tmp_path):
    model = pm.combine_trees(trees, method=method, rng=1)
    assert model.seed == 1
    assert model.n_trees_ == 2
    assert model.n_records_ == len(people)
    assert model.score(people) > 0.7  # 0.677 do not survive
    shares = model.predict_proba(people)
    np.testing.assert_allclose(shares.sum(axis=1), 1, atol=1e-12)
    model.save(tmp_path / "model.json")
    loaded = pm.load(tmp_path / "model.json")
    assert isinstance(loaded, pm.CombinedTrees)
    assert (loaded.predict_proba(people) == shares).all()
    assert (loaded.notes_, loaded.n_trees_) == (model.notes_, 2)
    assert loaded.n_pseudo_records_ == model.n_pseudo_records_
    assert repr(loaded) == repr(model)
    assert loaded.to_text() == model.to_text()


def test_messages_of_any_form_are_the_same(trees, people, tmp_path):
    path = tmp_path / "south.json"
    trees[1].save(path)
    forms = [
        trees,
        [trees[0].message, path],
        [json.dumps(trees[0].message), str(path)],
        [trees[0].to_json(), {"id": 3, "model": trees[1].message}],
    ]
    found = [pm.combine_trees(form, method="labelled", rng=2).to_document() for form in forms]
    assert all(one == found[0] for one in found)


def test_the_bound_is_the_largest_of_all_trees_or_none(trees, people):
    listed = {name: sorted(people[name].unique()) for name in people.columns}
    private = [
        pm.share_tree(people, "survived", None, categories=listed, epsilon=e, rng=1)
        for e in (1.0, 3.0)
    ]
    both = pm.combine_trees(private, method="votes")
    assert both.epsilon_ == 3.0
    assert both.gamma_ == pytest.approx(np.exp(3))
    assert "gamma 20.09, epsilon 3" in repr(both)
    assert pm.combine_trees([trees[0], private[0]], method="votes").epsilon_ == np.inf
    assert "no bound on a record" in repr(pm.combine_trees(trees, method="votes"))


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [{}, {"method": "votes"}, *({"model": m} for m in ("naive-bayes", "conjunctive"))],
)
def test_it_is_shown(trees, options):
    from matplotlib.axes import Axes

    model = pm.combine_trees(trees, rng=1, **options)
    html = model._repr_html_()
    if options:
        assert html is None
        with pytest.raises(pm.PramanaError):
            model.plot()
    else:
        assert isinstance(model.plot(), Axes)
        assert "<svg" in html
    assert pm.CombinedTrees()._repr_html_() is None


def clinic(seed: int, **cells: object) -> pd.DataFrame:
    """Return 400 patients, whose class follows one of their columns."""
    rng = np.random.default_rng(seed)
    weight = rng.normal(75, 12, 400)
    ward = rng.choice(["a", "b", "c"], 400)
    ill = rng.random(400) < np.where(weight > 80, 0.9, 0.1)
    frame = pd.DataFrame({"weight": weight, "ward": ward, "ill": np.where(ill, "yes", "no")})
    return frame.assign(**cells) if cells else frame


def test_owners_of_other_categories_are_refused_and_of_other_units_warned_of():
    north, south = clinic(1), clinic(2)
    upper = south.assign(ward=south.ward.str.upper())
    pounds = south.assign(weight=south.weight * 2.205)
    with pytest.raises(pm.DomainError) as refused:
        pm.combine_trees([pm.share_tree(f, "ill", 10) for f in (north, upper)], rng=1)
    assert refused.value.where == "ward"
    shared = [pm.share_tree(f, "ill", 10) for f in (north, pounds)]
    with pytest.warns(UserWarning, match="'weight'"):
        model = pm.combine_trees(shared, rng=1)
    assert any("'weight'" in note for note in model.notes_)
    # Without a difference nothing is said: here a warning is an error.
    pm.combine_trees([pm.share_tree(f, "ill", 10) for f in (north, south)], rng=1)
