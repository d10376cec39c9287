"""Regression trees, grown by scikit-learn on all copies together, and kept as plain nodes.

The questions are chosen on all copies at once; the mean of each leaf is estimated from each copy
and combined. Its error is that of the leaf given the tree: it does not know that the questions were
chosen on the same records.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np

from pramana_core.errors import EstimationError, NotInstalled
from pramana_core.mask.copies import combine_copies
from pramana_core.mixed import Floats, MixedTable, raw_columns
from pramana_core.regression.least_squares import Fit
from pramana_core.regression.model import TreeForm, TreeNode
from pramana_core.regression.options import RegressionOptions
from pramana_core.regression.records import Copies


def require_installed() -> None:
    """Check that trees can be grown here, without loading what grows them. Raises NotInstalled."""
    if find_spec("sklearn") is None:
        raise _not_installed()


def grow_tree(copies: Copies, options: RegressionOptions) -> TreeForm:
    """Return the tree of some copies.

    It is cut back (Breiman et al. 1984, section 3.3) until each split lowers the squared errors by
    2 log(n k) of their variances, more than the best of n k questions of noise is likely to: n
    records can be parted at as many places, by each of k columns.

    Raises:
        NotInstalled: scikit-learn is not installed.
        EstimationError: there are fewer records than two leaves need.
    """
    if copies.records < 2 * options.min_leaf:
        raise EstimationError(
            f"{copies.records} records are too few for two leaves of {options.min_leaf}.",
            where="min_leaf",
            remedy="Choose a smaller min_leaf.",
        )
    labels = [label for label, _ in raw_columns(copies.tables[0])]
    matrices = np.stack(
        [np.column_stack([c for _, c in raw_columns(table)]) for table in copies.tables]
    )
    centres, scales = matrices.mean(axis=(0, 1)), matrices.std(axis=(0, 1))
    scales = np.where(scales > 0, scales, 1.0)
    m, n, k = matrices.shape
    standard = ((matrices - centres) / scales).reshape(m * n, k)
    # A node's variance is a difference of large squares, and below zero by rounding if not centred.
    targets = copies.targets.reshape(m * n)
    targets = (targets - targets.mean()) / (targets.std() or 1.0)
    how = {
        "max_depth": options.max_depth,
        "min_samples_leaf": m * options.min_leaf,
        "random_state": options.seed % (1 << 32),
    }
    tree = _grown(standard, targets, **how)
    cost = max(0.0, 2 * np.log(n * k) / (n - tree.n_leaves) * _inside(tree))
    tree = _grown(standard, targets, ccp_alpha=cost, **how)
    asks = np.maximum(tree.feature, 0)  # A leaf asks for none, which is told by a negative place.
    thresholds = centres[asks] + scales[asks] * tree.threshold
    indicators = {f"{f.name}={label}" for f in copies.features for label in f.categories or ()}
    asked: list[tuple[str | None, float, int, int]] = []
    for place, (below, above) in enumerate(
        zip(tree.children_left, tree.children_right, strict=True)
    ):
        label = labels[tree.feature[place]] if below >= 0 else None
        at = 0.5 if label in indicators else float(thresholds[place])
        asked.append((label, at, int(below), int(above)))
    return _with_means(asked, copies)


def leaf_fits(form: TreeForm, copies: Copies) -> list[Fit]:
    """Return each copy's fit by the leaves of a tree; weights are the leaves' means."""
    found = []
    for table, targets in zip(copies.tables, copies.targets, strict=True):
        inside = leaf_matrix(form, table)
        counts = inside.sum(axis=0)
        means = inside.T @ targets / np.maximum(counts, 1)
        fitted = inside @ means
        residuals = targets - fitted
        squares = inside.T @ np.square(residuals)
        variances = squares / np.maximum(counts * (counts - 1), 1)
        found.append(
            Fit(
                weights=means,
                covariance=np.diag(variances),
                robust=None,
                fitted=fitted,
                residuals=residuals,
                freedom=float(len(form.leaves)),
            )
        )
    return found


def leaf_matrix(form: TreeForm, table: MixedTable) -> Floats:
    """Return in which leaf each record is: n x leaves, 0 or 1."""
    found: Floats = (form.leaf_of(table)[:, None] == np.array(form.leaves)).astype(np.float64)
    return found


def _grown(matrix: Floats, targets: Floats, **how: Any) -> Any:
    try:
        from sklearn.tree import DecisionTreeRegressor
    except ImportError:
        raise _not_installed() from None
    return DecisionTreeRegressor(**how).fit(matrix, targets).tree_


def _not_installed() -> NotInstalled:
    return NotInstalled(
        "Regression trees are grown by scikit-learn, which is not installed.",
        where="model",
        remedy="Install it (pip install 'pramana[models]'), or choose another model.",
    )


def _inside(tree: Any) -> float:
    """Return the variance of the target in a tree's leaves, the mean over records."""
    leaves = tree.children_left < 0
    counts = tree.n_node_samples[leaves]
    return float(np.average(tree.impurity[leaves], weights=counts))


_Asked = Sequence[tuple[str | None, float, int, int]]


def _with_means(asked: _Asked, copies: Copies) -> TreeForm:
    """Return the nodes with the means of their records, by our own walk through the questions."""
    m = len(copies.tables)
    inside = [np.ones((m, copies.records), dtype=bool)]
    inside += [np.zeros((m, copies.records), dtype=bool) for _ in asked[1:]]
    columns = [dict(raw_columns(table)) for table in copies.tables]
    nodes = []
    for place, (column, threshold, below, above) in enumerate(asked):
        here = inside[place]
        question: dict[str, Any] = {}
        if column is not None:
            low = np.stack([found[column] <= threshold for found in columns])
            inside[below], inside[above] = here & low, here & ~low
            question = {"column": column, "threshold": threshold, "below": below, "above": above}
        nodes.append(_node(copies.targets, here, question))
    return TreeForm(tuple(nodes))


def _node(targets: Floats, here: Any, question: dict[str, Any]) -> TreeNode:
    groups = [values[rows] for values, rows in zip(targets, here, strict=True)]
    every = np.concatenate(groups)
    sd = float(every.std(ddof=1)) if len(every) > 1 else 0.0
    least = min(map(len, groups))
    mean, se = float(every.mean()), None
    if least > 1:
        together = combine_copies(
            [group.mean() for group in groups],
            [group.var(ddof=1) / len(group) for group in groups],
            least,
        )
        mean, se = float(together.estimate[0]), float(together.standard_error[0])
    return TreeNode(len(every) / len(groups), mean, se, sd, **question)
