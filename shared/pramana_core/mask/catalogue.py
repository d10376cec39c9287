"""All masking methods by name, each with its options and its promises, and masking by a name.

Also here:

* The masking methods of the papers, by name.
* Synthetic records by regression trees, one confidential column after the other (synthpop).
* Synthetic records by a Gaussian copula: X drawn from its conditional law given S.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from types import MappingProxyType
from typing import Annotated, Any, Literal

import numpy as np
import numpy.typing as npt
from annotated_types import Ge

from pramana_core.errors import NotInstalled, OptionError
from pramana_core.kernel_regression.options import KernelOptions
from pramana_core.learn.common.options import require_limit
from pramana_core.mask.core.inputs import (
    MAX_LEVERAGE,
    cautions,
    facts,
    from_normal_scores,
    inputs,
    normal_scores,
    require_maskable,
)
from pramana_core.mask.core.masked import Masked, Method, by_scores, method_of
from pramana_core.mask.core.noise import (
    Randomness,
    conditional,
    copula_correlations,
    normal_noise,
    require_randomness,
)
from pramana_core.mask.methods.gadp import (
    NOISE,
    cadp,
    cgadp,
    egadp,
    gadp,
    ipso,
    of_scores,
    sadp,
    shuffle,
)
from pramana_core.mask.methods.nmegadp import nmegadp
from pramana_core.mixed import Floats, raw_columns

_LONE = {"max_leverage": MAX_LEVERAGE, "max_told": None}

_KERNEL = {"kernel": KernelOptions(), **_LONE}

_UNLINKED = (
    "Beyond what S and the relationships that are kept tell of a record, its masked values tell"
    " nothing. There is no bound on what one record may tell: releases that differ by one record"
    " can give it away."
)

_NO_MORE = f"{_UNLINKED} What S tells of X is released on purpose."

_TRUE_VALUES = (
    f"{_NO_MORE} The released numbers are the true ones at other records, the largest and the"
    " smallest among them."
)

_BLURRED = (
    "Each masked value is the true one with noise on it: it tells of the record what S does not,"
    " and several releases average the noise out."
)

PAPERS: Mapping[str, Method] = MappingProxyType(
    {
        method.name: method
        for method in (
            Method(
                "sadp",
                sadp,
                keeps="Means; correlations and slopes of every shape are weakened by the noise.",
                protects=_BLURRED,
                options={"noise": NOISE},
                independent=False,
            ),
            Method(
                "cadp",
                cadp,
                keeps="Means and the correlations among masked columns; relationships with other"
                " columns are weakened by the noise.",
                protects=_BLURRED,
                options={"noise": NOISE, "rescale": False},
                independent=False,
            ),
            Method(
                "gadp",
                gadp,
                keeps="Linear relationships, up to sampling error.",
                protects=_NO_MORE,
                options=_LONE,
            ),
            Method(
                "ipso",
                ipso,
                keeps="Linear relationships, exactly: means and covariances are the original ones.",
                protects=f"{_NO_MORE} Chance correlations with the true values remain, which tell"
                " something in small tables.",
                options=_LONE,
                exact_moments=True,
            ),
            Method(
                "egadp",
                egadp,
                keeps="Linear relationships, exactly: means and covariances are the original ones.",
                protects=_NO_MORE,
                options=_LONE,
                exact_moments=True,
                orthogonal=True,
            ),
            Method(
                "cgadp",
                cgadp,
                keeps="Monotonic relationships between pairs of columns, and nearly the marginals.",
                protects=_NO_MORE,
                options=_LONE,
                orthogonal=True,
            ),
            Method(
                "shuffle",
                shuffle,
                keeps="Monotonic relationships between pairs of columns, and exactly the"
                " marginals.",
                protects=_TRUE_VALUES,
                options=_LONE,
                released_values=True,
                orthogonal=True,
            ),
            Method(
                "shuffle-parametric",
                partial(shuffle, marginals="parametric"),
                keeps="Relationships that are linear once each column is made normal by a fitted"
                " family, and exactly the marginals.",
                protects=_TRUE_VALUES,
                options=_LONE,
                released_values=True,
                orthogonal=True,
            ),
            Method(
                "nmegadp",
                partial(nmegadp, form="perturbation"),
                keeps="Relationships of any shape that S tells of; means and covariances exactly.",
                protects=_NO_MORE,
                options=_KERNEL,
                exact_moments=True,
                orthogonal=True,
            ),
            Method(
                "nmegadp-shuffle",
                partial(nmegadp, form="shuffling"),
                keeps="Relationships of any shape that S tells of, and exactly the marginals.",
                protects=_TRUE_VALUES,
                options=_KERNEL,
                released_values=True,
                orthogonal=True,
            ),
            Method(
                "nmegadp-copula",
                partial(nmegadp, form="copula-perturbation"),
                keeps="Relationships of any shape that S tells of; means and covariances exactly,"
                " the residuals' marginals and rank correlations nearly.",
                protects=_NO_MORE,
                options=_KERNEL,
                exact_moments=True,
                orthogonal=True,
            ),
            Method(
                "nmegadp-copula-shuffle",
                partial(nmegadp, form="copula-shuffling"),
                keeps="Relationships of any shape that S tells of, the residuals' rank"
                " correlations, and exactly the marginals.",
                protects=_TRUE_VALUES,
                options=_KERNEL,
                released_values=True,
                orthogonal=True,
            ),
        )
    }
)
"""Every method of this room by its name, from the simplest to the one that keeps most."""


# Synthetic records by regression trees, one confidential column after the other (synthpop).

Draw = Literal["bayesian-bootstrap", "plain"]

TRUE_VALUES = "The values are true values of real people, some of them in their own record."


def synthetic_trees(
    S: Any,  # noqa: N803 - the papers' names
    X: Any,  # noqa: N803
    rng: Randomness,
    *,
    min_leaf: int = 5,
    draw: Draw = "bayesian-bootstrap",
    smoothing: bool = False,
) -> Masked:
    """Draw X anew given S, column by column, from the leaves of regression trees.

    The first column is drawn given S, the second given S and the first, and so on (Reiter 2005;
    synthpop, Nowok, Raab and Dibben 2016). Each tree is grown on the true table; a record's leaf
    is found by S and its synthetic columns before, and its value is one of the true values in
    that leaf.

    It keeps relationships of any shape, as far as leaves of `min_leaf` records resolve them. Its
    values are true values of real people, among them the record's own: about one in the leaf's
    size is released as it is, up to one in `min_leaf`. Y is thus not independent of X given S.
    With `smoothing` values are not true ones, but lie within a bandwidth of one.

    Args:
        S: the non-confidential columns, n x p numbers or a frame; None for none.
        X: the confidential columns, n x q numbers or a frame, in the order of drawing.
        rng: the randomness; scikit-learn's seeds are made of it.
        min_leaf: the least number of records in a leaf, at least 2.
        draw: "plain" draws the values in a leaf uniformly; "bayesian-bootstrap" first draws their
            weights (Rubin 1981), as inference on synthetic records by a posterior law wants.
        smoothing: add normal noise to each value, of Silverman's bandwidth for the whole column,
            reflected at the column's ends.

    Returns:
        Y in X's form.

    Raises:
        NotInstalled: scikit-learn, extra `models`, is not installed.
        OptionError: an option is out of range.
        TableError, MaskingError: see `inputs`.
    """
    require_limit(min_leaf, Annotated[int, Ge(2)], "min_leaf")
    require_limit(draw, Draw, "draw")
    require_randomness(rng)
    given = inputs(S, X)
    if given.records < 2 * min_leaf:
        raise OptionError(
            f"min_leaf must be at most half of the {given.records} records, not {min_leaf}.",
            where="min_leaf",
        )
    told = np.column_stack([np.empty((given.records, 0)), *(c for _, c in raw_columns(given.s))])
    values = np.empty_like(given.matrix)
    leaves = []
    for place in range(values.shape[1]):
        before = np.column_stack([told, given.matrix[:, :place]])
        now = np.column_stack([told, values[:, :place]])
        true, found, count = _leaves(before, given.matrix[:, place], now, min_leaf, rng)
        leaves.append(count)
        chosen = _drawn(true, found, count, draw, rng)
        values[:, place] = given.matrix[chosen, place]
    if smoothing:
        values = _smoothed(values, given.matrix, rng)
    own = () if smoothing else (TRUE_VALUES,)
    return Masked(
        "synthetic-trees",
        given.restore(values, same_type=not smoothing),
        values,
        details={**facts(given), "leaves": tuple(leaves)},
        warnings=(*cautions(given), *own),
    )


def _leaves(
    before: Floats, target: Floats, now: Floats, min_leaf: int, rng: Randomness
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp], int]:
    """Return in which leaf each true and each synthetic record is, and how many leaves there are.

    A tree without features is a single leaf.
    """
    seed = int(rng.random() * 2**31)
    if not before.shape[1]:
        single = np.zeros(len(target), dtype=np.intp)
        return single, single, 1
    try:
        from sklearn.tree import DecisionTreeRegressor
    except ImportError:
        raise NotInstalled(
            "Synthetic records by trees need scikit-learn, which is not installed here.",
            where="models",
            remedy="Install the extra: pip install 'pramana[models]'.",
        ) from None
    tree = DecisionTreeRegressor(min_samples_leaf=min_leaf, random_state=seed)
    # Trees compare numbers of 32 bits: standardized, large numbers that differ little stay apart.
    centre, scale = before.mean(axis=0), before.std(axis=0)
    scale[scale == 0] = 1.0
    tree.fit((before - centre) / scale, target)
    names, codes = np.unique(tree.apply((before - centre) / scale), return_inverse=True)
    return codes, np.searchsorted(names, tree.apply((now - centre) / scale)), len(names)


def _drawn(
    true: npt.NDArray[np.intp], found: npt.NDArray[np.intp], leaves: int, draw: str, rng: Randomness
) -> npt.NDArray[np.intp]:
    """Return for each synthetic record the number of the true record whose value it takes."""
    sizes = np.bincount(true, minlength=leaves)
    order = np.argsort(true, kind="stable")
    start = np.cumsum(sizes) - sizes
    uniform = np.asarray(rng.random(len(found)), dtype=np.float64)
    if draw == "plain":
        place = start[found] + np.floor(uniform * sizes[found]).astype(np.intp)
        return np.asarray(order[place])
    # Exponential weights, normalized in each leaf, are Dirichlet's. Each leaf fills one unit of
    # the cumulated weights, so that one search serves all leaves.
    weights = -np.log1p(-np.asarray(rng.random(len(true)), dtype=np.float64))
    shares = weights / np.bincount(true, weights, minlength=leaves)[true]
    limits = np.cumsum(shares[order])
    place = np.searchsorted(limits, found + uniform, side="right")
    place = np.clip(place, start[found], start[found] + sizes[found] - 1)
    return np.asarray(order[place])


def _smoothed(values: Floats, true: Floats, rng: Randomness) -> Floats:
    """Add normal noise of Silverman's bandwidth, reflected at the columns' ends."""
    low, high = true.min(axis=0), true.max(axis=0)
    quartiles = np.quantile(true, [0.25, 0.75], axis=0)
    spread = (quartiles[1] - quartiles[0]) / 1.349
    deviation = true.std(axis=0)
    scale = np.where(spread > 0, np.minimum(spread, deviation), deviation)
    width = 0.9 * scale * len(true) ** -0.2
    moved = values + width * rng.standard_normal(values.shape)
    # Folded into the range, however far the noise leads.
    period = 2 * (high - low)
    away = np.mod(moved - low, period)
    found: Floats = low + np.minimum(away, period - away)
    return found


# Synthetic records by a Gaussian copula: X drawn from its conditional law given S.


def synthetic_copula(
    S: Any,  # noqa: N803 - the papers' names
    X: Any,  # noqa: N803
    rng: Randomness,
    *,
    max_leverage: float = MAX_LEVERAGE,
    max_told: float | None = None,
) -> Masked:
    """Draw X anew given S, by a Gaussian copula whose marginals are the empirical ones.

    Numbers become normal scores and categories of S indicators. The scores of X are regressed
    on those of S; their prediction and normal noise with the residuals' covariance, drawn freely
    for each record, are read back through X's order statistics, between which values are
    interpolated. This is the conditional law of the copula that Patki, Wedge and
    Veeramachaneni (2016) fit to whole tables.

    It keeps monotonic relationships. Given S and the fitted copula Y tells nothing of X; moments
    are kept up to the noise, so that two releases do not give one record away exactly. Values lie
    between true ones: the smallest and the largest true value may occur, unlinked.

    Args, Raises: as of `cgadp`.

    Returns:
        Y in X's form. `expectation` and `noise` are None: they are of scores, not of values.
    """
    require_randomness(rng)
    given = inputs(S, X)
    scored = of_scores(given, normal_scores(given.matrix))
    require_maskable(scored, scored.basis.shape[1], max_leverage)
    prediction, root = conditional(scored, copula_correlations(scored))
    drawn = prediction + normal_noise(rng, given.records, root)
    values = from_normal_scores(drawn, given.matrix)
    return by_scores("synthetic-copula", given, scored, values, None, max_told)


_SYNTHETIC = (
    Method(
        "synthetic-copula",
        synthetic_copula,
        keeps="Monotonic relationships, up to sampling error, and nearly the marginals.",
        protects="Drawn from what S tells of a record by the fitted copula, the values"
        " tell nothing more of its true ones; they carry no bound on what one record may"
        " tell. They lie between true values, and the extremes may occur, unlinked.",
        options={"max_leverage": MAX_LEVERAGE, "max_told": None},
    ),
    Method(
        "synthetic-trees",
        synthetic_trees,
        keeps="Relationships of any shape, as far as the leaves of the trees resolve them.",
        protects="The values are true values of real people alike in S, drawn from leaves"
        " of at least min_leaf records, and about one in a leaf's size of them lands in its"
        " own record; smoothing moves each by a little. They carry no bound on what one"
        " record may tell.",
        options={"min_leaf": 5, "draw": "bayesian-bootstrap", "smoothing": False},
        released_values=True,
        independent=False,
    ),
)

METHODS: Mapping[str, Method] = MappingProxyType(
    {**PAPERS, **{method.name: method for method in _SYNTHETIC}}
)
"""Every masking method by its name, the synthetic baselines last."""


def mask(name: str, S: Any, X: Any, rng: Randomness, **options: Any) -> Masked:  # noqa: N803
    """Mask X beside S by the method of a name.

    Args:
        name: one of `METHODS`.
        S, X: as of `inputs`.
        rng: the randomness.
        options: the method's own, see `Method.options`.

    Raises:
        OptionError: there is no such method, or it has no such option.
        TableError, MaskingError: S and X cannot be masked so.
    """
    return method_of(name, METHODS)(S, X, rng, **options)
