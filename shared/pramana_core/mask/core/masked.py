"""What a masking method gives back, made of what it predicted and the noise that it added.

Also here:

* What of a masked value is its record's own: how much the true one weighs, under what noise. The
  noise spreads over the directions that it may have: a record that decides some of those it must be
  orthogonal to has less noise than others. The weight alone does not show that.
* What a masking method is to those who choose between methods: how to run it, what it promises.
* Bounds of masked columns: masked values beyond them are cut to them, at the cost of moments.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from pramana_core.alike import did_you_mean
from pramana_core.errors import MaskingError, OptionError
from pramana_core.mask.core.inputs import Caution, Gravity, Inputs, cautions, facts, gravest_first
from pramana_core.mask.core.noise import Randomness
from pramana_core.mixed import Floats, leverages
from pramana_core.ties import descending, first_largest_of_rows

EXPOSED = 0.25
"""A record of which more than this is told is named: its masked value and its true one, both less
what S tells, then correlate by more than a half."""


HEAVY = (((4 - 3 * EXPOSED) * EXPOSED) ** 0.5 - EXPOSED) / (2 * (1 - EXPOSED))
"""A leverage w larger than this names a record by itself, under the noise 1 - w that it leaves. Who
weighs less is named because other columns, X among them, took the noise."""

_ALONE = (
    ("stands nearly alone in S", "stand nearly alone in S"),
    ", merge rare categories or lower max_leverage",
)
_SPARED = (("has little noise", "have little noise"), " or cut outlying numbers off")


@dataclass(frozen=True, eq=False)
class Influence:
    """Each record's part in its own masked values; it stays with the owner.

    Attributes:
        weights: by how much a masked value moves for each unit that its true one moves: n x q.
        noises: the standard deviations of the noise, over draws of it, in those of what S leaves of
            the column: n x q.
    """

    weights: Floats = field(repr=False)
    noises: Floats = field(repr=False)

    @cached_property
    def _told(self) -> Floats:
        own = self.weights**2
        found: Floats = own / np.maximum(own + self.noises**2, np.finfo(float).tiny)
        return found

    @cached_property
    def columns(self) -> npt.NDArray[np.intp]:
        """The place of the column of X of which most is told, for each record: n numbers."""
        return first_largest_of_rows(self._told)

    @property
    def told(self) -> Floats:
        """The share of what S leaves of a record that its masked value tells: n numbers, 0 to 1.

        w^2 / (w^2 + s^2), of weight w and noise s: the R^2 of whoever knows all other records and
        E(X|S), if the record lies as far from E(X|S) as records of its column do on average.
        """
        return self._of(self._told)

    @property
    def own(self) -> Floats:
        """The weights in the columns of which most is told: n numbers."""
        return self._of(self.weights)

    @property
    def noise(self) -> Floats:
        """The noise in the columns of which most is told: n numbers."""
        return self._of(self.noises)

    @property
    def exposed(self) -> npt.NDArray[np.bool_]:
        """Which records are to be named: n truth values."""
        found: npt.NDArray[np.bool_] = self.told > EXPOSED
        return found

    @property
    def stated(self) -> float:
        """The largest weight, in any column, of the records that are not named."""
        return float(np.max(self.weights[~self.exposed], initial=0.0))

    @property
    def order(self) -> npt.NDArray[np.intp]:
        """The records by what is told of them, most first."""
        return np.array(descending(self.told, scale=1.0), dtype=np.intp)

    @property
    def warnings(self) -> tuple[Caution, ...]:
        """Sentences on the records to be named: those of much weight, and those of little noise."""
        much = self.exposed & (self.own > HEAVY)
        little = self.exposed & ~much
        return tuple(
            Caution(self._said(named, why), Gravity.GRAVE)
            for named, why in ((much, _ALONE), (little, _SPARED))
            if named.any()
        )

    def _said(self, named: npt.NDArray[np.bool_], why: tuple[tuple[str, str], str]) -> str:
        """Say of records what of their masked values is their own, and under how much noise."""
        count, (stands, instead) = int(np.count_nonzero(named)), why
        own, noise = float(self.own[named].max()), float(self.noise[named].min())
        if count == 1:
            return (
                f"1 record {stands[0]}: its masked value moves by {own:.0%} of a change of its true"
                f" one, under {noise:.0%} of the usual noise. Leave it out"
                f"{instead}."
            )
        return (
            f"{count:,} records {stands[1]}: their masked values move by as much as {own:.0%} of a"
            f" change of their true ones, under as little as {noise:.0%} of the usual noise. Leave"
            f" them out{instead}."
        )

    def _of(self, values: Floats) -> Floats:
        found: Floats = np.take_along_axis(values, self.columns[:, None], axis=1)[:, 0]
        return found


def influence_of(weights: Floats, basis: Floats | None = None, *, columns: int = 1) -> Influence:
    """Return what of Y is its records' own, Y being a prediction and noise on it.

    Noise that is orthogonal to k columns has, in n - k free directions, the variance of what S
    leaves: n / (n - k) of it for a record that decides none of the columns, times 1 - h for one
    whose leverage in them is h.

    Args:
        weights: of records' own values in their prediction: n x q, or n of all columns alike.
        basis: orthonormal columns that the noise is orthogonal to, n x k; None if it is drawn
            freely.
        columns: q.
    """
    own = np.repeat(weights[:, None], columns, axis=1) if weights.ndim == 1 else weights
    noise = np.ones(len(own))
    if basis is not None:
        free = np.maximum(1 - leverages(basis), 0.0)
        noise = np.sqrt(free * len(basis) / max(1, len(basis) - basis.shape[1]))
    return Influence(own, np.repeat(noise[:, None], own.shape[1], axis=1))


def require_bound(most: float | None) -> None:
    """Check a bound on what is told of a record. Raises OptionError unless between 0 and 1."""
    numeric = isinstance(most, int | float) and not isinstance(most, bool)
    if most is not None and not (numeric and 0 < most < 1):
        raise OptionError(f"max_told must be above 0 and below 1, not {most}.", where="max_told")


def hidden(influence: Influence, most: float | None) -> Influence:
    """Return what is told of records if it is no more than a bound, None for no bound.

    Raises:
        OptionError: the bound is not between 0 and 1.
        MaskingError: more is told of a record.
    """
    require_bound(most)
    over = 0 if most is None else int(np.count_nonzero(influence.told > most))
    if over:
        records = "1 record" if over == 1 else f"{over:,} records"
        raise MaskingError(
            f"Of {records} the masked values would tell {influence.told.max():.2g} of what S leaves"
            f" unknown, more than max_told, {most:g}.",
            where="max_told",
            remedy="Merge rare categories, cut outlying numbers off, leave those records out or"
            " mask more of their kind.",
        )
    return influence


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
