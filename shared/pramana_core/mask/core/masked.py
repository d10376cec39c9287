"""What a masking method gives back, made of what it predicted and the noise that it added.

Also here:

* What a masking method is to those who choose between methods: how to run it, what it promises.
* Bounds of masked columns: masked values beyond them are cut to them, at the cost of moments.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np

from pramana_core.alike import did_you_mean
from pramana_core.errors import OptionError
from pramana_core.mask.core.cautions import Caution, cautions, facts, gravest_first
from pramana_core.mask.core.influence import Influence, hidden, influence_of
from pramana_core.mask.core.inputs import Inputs
from pramana_core.mask.core.noise import Randomness
from pramana_core.mixed.table import Floats


@dataclass(frozen=True, eq=False)
class Masked:
    """Masked values Y in the place of X; `values` alone may leave the owner.

    Attributes:
        method: the method's name.
        values: Y in the form that X was given in: a vector, an n x q array or a frame.
        matrix: Y as n x q numbers.
        expectation: what of Y is a function of S, n x q; None where Y was not made so.
        noise: what was added: e = Y - expectation, or Y - X where there is no expectation; n x q,
            None where values were reordered. With it Y gives X away.
        details: what was chosen on the way, by name: numbers and words that hold no record.
        warnings: sentences on what the custodian must know before this leaves.
        influence: what of Y is its records' own, before values were reordered; None where Y is not
            made of a prediction and noise.
    """

    method: str
    values: Any
    matrix: Floats = field(repr=False)
    expectation: Floats | None = field(default=None, repr=False)
    noise: Floats | None = field(default=None, repr=False)
    details: Mapping[str, Any] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    influence: Influence | None = field(default=None, repr=False)


def predicted_and_noise(
    method: str, given: Inputs, prediction: Floats, noise: Floats, influence: Influence
) -> Masked:
    """Return Y = prediction from S + noise, both of the standardized X: n x q."""
    values = given.in_units(prediction + noise)
    return Masked(
        method,
        given.restore(values),
        values,
        given.in_units(prediction),
        noise * given.scales,
        facts(given),
        gravest_first((*influence.warnings, *cautions(given))),
        influence,
    )


def by_scores(
    method: str,
    given: Inputs,
    scored: Inputs,
    values: Floats,
    basis: Floats | None,
    max_told: float | None,
    *,
    same_type: bool = False,
    **details: Any,
) -> Masked:
    """Return Y whose scores are a prediction from those of S and noise orthogonal to a basis.

    Raises:
        OptionError, MaskingError: see `hidden`.
    """
    influence = influence_of(scored.leverages, basis, columns=given.columns)
    return Masked(
        method,
        given.restore(values, same_type=same_type),
        values,
        details={**facts(scored), **details},
        warnings=gravest_first((*hidden(influence, max_told).warnings, *cautions(given, scored))),
        influence=influence,
    )


# What a masking method is to those who choose between methods: how to run it, what it promises.


@dataclass(frozen=True)
class Method:
    """A masking method.

    Attributes:
        name: what it is called wherever a method is chosen.
        run: the method itself: `run(S, X, rng, **options)`.
        keeps: a sentence on which relationships survive it.
        protects: a sentence on what protection it gives and what it does not.
        options: the options it takes, each with its default.
        released_values: whether what is released are true values in another order.
        independent: whether Y is drawn so that it tells nothing of X beyond S.
        orthogonal: whether the noise is made orthogonal to X in the sample: each masked column of
            each copy is then an equation that the true values fulfil.
        exact_moments: whether means and covariances of (S, Y) are those of (S, X) in the sample.
    """

    name: str
    run: Callable[..., Masked] = field(repr=False)
    keeps: str
    protects: str
    options: Mapping[str, Any] = field(default_factory=dict)
    released_values: bool = False
    independent: bool = True
    orthogonal: bool = False
    exact_moments: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "options", MappingProxyType(dict(self.options)))

    def __call__(self, S: Any, X: Any, rng: Randomness, **options: Any) -> Masked:  # noqa: N803
        """Mask X beside S.

        Raises:
            OptionError: the method has no such option, or a value is out of its range.
            TableError, MaskingError: S and X cannot be masked so.
        """
        if unknown := sorted(set(options) - set(self.options)):
            takes = ", ".join(self.options) or "no options"
            raise OptionError(
                f"Method {self.name!r} has no option"
                f" {unknown[0]!r}{did_you_mean(unknown[:1], self.options)}; it takes {takes}.",
                where=unknown[0],
            )
        return self.run(S, X, rng, **options)


def method_of(name: str, methods: Mapping[str, Method]) -> Method:
    """Return the method of a name.

    Raises:
        OptionError: there is none.
    """
    if name not in methods:
        raise OptionError(
            f"There is no masking method {name!r}; there are {', '.join(methods)}.", where="method"
        )
    return methods[name]


# Bounds of masked columns: masked values beyond them are cut to them, at the cost of moments.

Bounds = Mapping[str, tuple[float | None, float | None]]
"""A lower and an upper bound of columns, by their names; None for none."""


def require_within(bounds: Bounds, names: Sequence[str], true: Floats, where: str) -> None:
    """Check that bounds hold all true values: what is cut off would be no rounding, but wrong.

    Args:
        bounds: of columns that are all among the names.
        names: of the q columns.
        true: n x q.
        where: what the bounds are called where they were given.

    Raises:
        OptionError: true values lie beyond them.
    """
    for name in bounds:
        values = true[:, list(names).index(name)]
        if np.any(_cut(values, *bounds[name]) != values):
            raise OptionError(
                f"bounds of {name!r} must hold all its true values; some lie beyond them.",
                where=where,
            )


def bounded(names: Sequence[str], bounds: Bounds, masked: Floats) -> Floats:
    """Return masked values, n x q, cut to the bounds of their columns."""
    found = masked.copy()
    for place, name in enumerate(names):
        found[:, place] = _cut(masked[:, place], *bounds.get(name, (None, None)))
    return found


def cut_cautions(
    names: Sequence[str], bounds: Bounds, true: Floats, masked: Floats
) -> tuple[Caution, ...]:
    """Return what bounds cost.

    Args:
        names: of the q columns.
        bounds: those that were given.
        true: n x q.
        masked: n x q, before they were cut.
    """
    found = []
    cut = bounded(names, bounds, masked)
    for place, name in enumerate(names):
        before, after = masked[:, place], cut[:, place]
        if count := int(np.count_nonzero(after != before)):
            moved = abs(float(after.mean() - before.mean())) / float(true[:, place].std())
            shrunk = 1 - float(after.std() / before.std())
            values = f"{count:,} masked values of {name!r} were"
            one = f"1 masked value of {name!r} was"
            said = (
                f"{one if count == 1 else values} cut to its bounds: that moves its mean by"
                f" {moved:.2g} standard deviations and narrows its spread by {shrunk:.1%}:"
                " moments are not exact then."
            )
            found.append(Caution(said))
    return tuple(found)


def _cut(values: Floats, low: float | None, high: float | None) -> Floats:
    found: Floats = values
    if low is not None:
        found = np.maximum(found, low)
    if high is not None:
        found = np.minimum(found, high)
    return found
