"""Kernel regression and trees against scikit-learn, and what their forms hold of records."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge
from sklearn.tree import DecisionTreeRegressor

from pramana_core.errors import LimitExceeded, NotInstalled
from pramana_core.mask.copies import combine_copies
from pramana_core.regression import kernels, trees
from pramana_core.regression.learning import learn_regression
from pramana_core.regression.options import RegressionOptions
from pramana_core.regression.records import read_copies
from tests.shared.regression.tables import copies, raw, store, table, values

KERNEL = RegressionOptions(model="kernel")
TREE = RegressionOptions(model="tree")


def grid(name="x", count=30):
    """Records on a grid, several at each point: the points of kernels are then the grid."""
    x = np.repeat(np.linspace(0, 1, count), 5)
    rng = np.random.default_rng(2)
    return table(**{name: x}, y=np.sin(6 * x) + 0.1 * rng.normal(size=len(x)))


@pytest.mark.slow
def test_a_kernel_regression_whose_points_are_all_records_is_kernel_ridge():
    """scikit-learn's has no free constant: it is given the centred target and kernel."""
    people = grid()
    model = learn_regression([people], "y", options=KERNEL)
    form = model.form
    x, y = values(people, "x"), values(people, "y")
    assert sorted(p[0] for p in form.points) == pytest.approx(
        sorted(set((x - x.mean()) / x.std())), abs=1e-9
    )
    z = (x - x.mean()) / x.std()
    gram = np.exp(-((z[:, None] - z) ** 2) / (2 * form.bandwidth**2))
    centre = np.eye(len(x)) - 1 / len(x)
    ridge = KernelRidge(alpha=form.penalty * len(x), kernel="precomputed")
    fitted = ridge.fit(centre @ gram @ centre, y - y.mean()).predict(centre @ gram @ centre)
    np.testing.assert_allclose(model.predict(people), fitted + y.mean(), atol=1e-6)
    assert model.score.r2 > 0.95


@pytest.mark.slow
def test_a_hump_is_learned_by_kernels_and_not_by_lines():
    people = store(noise=10.0)
    linear, kernel = (
        learn_regression([people], "spends", options=o) for o in (RegressionOptions(), KERNEL)
    )
    assert linear.score.r2 < 0.3
    assert kernel.score.r2 > 0.8
    (age, *_) = kernel.curves
    assert age.feature == "age"
    assert age.at[np.argmax(age.mean)] == pytest.approx(40, abs=4)
    assert all(
        low < mean < high for low, mean, high in zip(age.low, age.mean, age.high, strict=True)
    )


@pytest.mark.slow
def test_no_point_of_a_kernel_is_a_record():
    """Each is a mean of five records or more, also where a record stands alone."""
    people = store(200)
    ages = values(people, "age").copy()
    ages[0] = 1e6
    people = table(age=ages, spends=values(people, "spends"))
    read = read_copies([people], "spends", None)
    (matrix,) = kernels.kernel_basis(read, KERNEL).matrices
    points = np.array(learn_regression([people], "spends", options=KERNEL).form.points)
    apart = np.abs(points[:, None] - matrix[None]).max(axis=2)
    assert apart.min() > 0
    # The lone record's share in the mean of its group is at most a fifth.
    assert points.max() < matrix.max() / 4


def test_groups_hold_five_records_of_every_copy_at_least():
    rng = np.random.default_rng(5)
    matrix = np.column_stack([rng.normal(size=400), rng.integers(0, 2, 400)])
    points = np.stack(list(kernels.means_of_groups(matrix, 2)))
    assert 10 < len(points) <= 400 / 10
    # The means of groups that together are all records, weighted by at least 10 each.
    assert len(points) <= kernels.MOST_POINTS


def test_a_kernels_errors_are_those_of_its_smoother():
    """The variance of the curve: s2 times the squared weights of the targets, moved one by one."""
    people = grid(count=12)
    read = read_copies([people], "y", None)
    basis = kernels.kernel_basis(read, KERNEL)
    (fit,) = kernels.kernel_fits(basis, read)
    rows = basis.matrix(people)[::5]
    smoother = np.empty((len(rows), 60))
    for record in range(60):
        targets = read.targets.copy()
        targets[0, record] += 1.0
        moved = type(read)(read.target, read.features, read.tables, targets)
        (again,) = kernels.kernel_fits(basis, moved)
        smoother[:, record] = rows @ (again.weights - fit.weights)
    variance = fit.variance * np.square(smoother).sum(axis=1)
    found = np.einsum("ij,jk,ik->i", rows, fit.covariance, rows)
    np.testing.assert_allclose(found, variance, rtol=1e-6)


def test_a_kernel_regression_that_holds_too_much_is_refused(monkeypatch):
    monkeypatch.setattr(kernels, "MOST_NUMBERS", 400 * 300 - 1)
    with pytest.raises(LimitExceeded, match="120,000 numbers; 119,999 are allowed"):
        learn_regression([store()], "spends", options=KERNEL)


@pytest.mark.slow
def test_a_tree_is_the_one_that_scikit_learn_cuts_back():
    people, other = store(), store(seed=9)
    model = learn_regression([people], "spends", ["age", "income"], TREE)
    x, y = raw(people, ["age", "income"])[:, 1:], values(people, "spends")
    z = (x - x.mean(axis=0)) / x.std(axis=0)
    how = {"max_depth": 4, "min_samples_leaf": 20, "random_state": 0}
    full = DecisionTreeRegressor(**how).fit(z, y)
    left = np.square(y - full.predict(z)).sum() / (400 - full.get_n_leaves())
    cut = DecisionTreeRegressor(ccp_alpha=2 * np.log(400 * 2) / 400 * left, **how).fit(z, y)
    assert cut.get_n_leaves() == len(model.form.leaves)
    z = (raw(other, ["age", "income"])[:, 1:] - x.mean(axis=0)) / x.std(axis=0)
    np.testing.assert_allclose(model.predict(other), cut.predict(z), rtol=1e-9)


@pytest.mark.slow
def test_a_tree_finds_nothing_in_noise_and_something_in_a_step():
    """Of noise alone about one tree in a hundred is split: three of 40 are by a chance of 1 %."""
    rng = np.random.default_rng(8)
    split = stepped = 0
    for _ in range(40):
        noise = {name: rng.normal(size=300) for name in "abcd"}
        read = read_copies([table(**noise)], "a", None)
        split += len(trees.grow_tree(read, TREE).nodes) > 1
        noise["a"] += 0.5 * np.sign(noise["b"])
        read = read_copies([table(**noise)], "a", None)
        stepped += len(trees.grow_tree(read, TREE).nodes) > 1
    assert split <= 3
    assert stepped > 35


@pytest.mark.slow
def test_leaves_of_copies_have_reiters_errors():
    tables = copies(3, noise=20.0)
    model = learn_regression(tables, "spends", options=TREE)
    at = [model.form.leaf_of(one) for one in tables]
    assert len(model.form.leaves) > 2
    for place in model.form.leaves:
        inside = [
            values(one, "spends")[where == place] for one, where in zip(tables, at, strict=True)
        ]
        wanted = combine_copies(
            [group.mean() for group in inside],
            [group.var(ddof=1) / len(group) for group in inside],
            min(map(len, inside)),
        )
        node = model.form.nodes[place]
        assert node.mean == pytest.approx(wanted.estimate[0])
        assert node.se == pytest.approx(wanted.standard_error[0])
        assert node.records == pytest.approx(np.mean([len(group) for group in inside]))
        assert node.records >= 20


def test_categories_are_asked_for_one_by_one():
    rng = np.random.default_rng(3)
    level = rng.integers(0, 3, 300)
    people = table(level=(level, "abc"), y=10.0 * (level == 2) + rng.normal(size=300))
    model = learn_regression([people], "y", options=TREE)
    root = model.form.nodes[0]
    assert (root.column, root.threshold) == ("level=c", 0.5)


def test_without_scikit_learn_a_tree_says_what_to_install(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "sklearn.tree", None)
    with pytest.raises(NotInstalled, match="not installed") as caught:
        learn_regression([store()], "spends", options=TREE)
    assert "pramana[models]" in caught.value.remedy
