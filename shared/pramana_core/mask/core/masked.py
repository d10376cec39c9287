"""A masking method and its result."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from pramana_core.alike import did_you_mean
from pramana_core.errors import OptionError
from pramana_core.mask.core.influence import Influence
from pramana_core.mask.core.inputs import Inputs, Limits, inputs
from pramana_core.mask.core.noise import Randomness, require_randomness
from pramana_core.mixed import Floats


@dataclass(frozen=True, eq=False)
class Masked:
    """Masked values Y that replace X. The owner may release `matrix` and nothing else.

    Attributes:
        matrix: Y, n x q.
        expectation: the part of Y that is a function of S, n x q, or None if there is no such part.
        noise: Y minus the expectation, or Y minus X, n x q, or None if values were reordered. The
            noise reveals X.
        details: parameters and measures by name; they describe all records, never a single record.
        warnings: sentences that the custodian must read before the release.
        influence: the influence of each record on its own Y, before reordering, or None.
        method: the method's name.
    """

    matrix: Floats = field(repr=False)
    expectation: Floats | None = field(default=None, repr=False)
    noise: Floats | None = field(default=None, repr=False)
    details: Mapping[str, Any] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    influence: Influence | None = field(default=None, repr=False)
    method: str = ""


def facts(given: Inputs) -> dict[str, Any]:
    """Return details that all methods have: the largest leverage, and the columns left out."""
    return {
        "records": given.records,
        "largest_leverage": float(given.leverages.max()),
        "left_out": (*given.design.constant, *given.design.redundant),
    }


@dataclass(frozen=True)
class Method:
    """A masking method: its function, and the properties of its results.

    Attributes:
        name: its name in options and commands.
        run: the method: `run(inputs, rng, limits)`, or `run(inputs, rng, noise=...)`.
        keeps, protects: sentences on the relationships that the method keeps, and on its
            protection.
        options: the names of the options, with their defaults.
        released_values: whether it releases true values in another order.
        independent: whether Y reveals only what S reveals about X.
        orthogonal: whether the noise is orthogonal to X, which gives an equation for the true
            values.
        exact_moments: whether (S, Y) has the means and covariances of (S, X) in the sample.
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
        """Mask X given S, with the method's options, which are the fields of `Limits` or `noise`.

        The arguments S and X are as for `inputs`, with the same errors. Raises OptionError: an
        option is unknown or out of its range. MaskingError: S determines a column of X, a record is
        alone in S, a masked value would reveal more than `max_told`, or there are too few records.
        """
        if unknown := sorted(set(options) - set(self.options)):
            raise OptionError(
                f"Method {self.name!r} has no option"
                f" {unknown[0]!r}{did_you_mean(unknown[:1], self.options)}; its options are"
                f" {', '.join(self.options)}.",
                where=unknown[0],
            )
        require_randomness(rng)
        given = inputs(S, X)
        if "noise" in self.options:
            return replace(self.run(given, rng, **options), method=self.name)
        return replace(self.run(given, rng, Limits(**options)), method=self.name)


def method_of(name: str, methods: Mapping[str, Method]) -> Method:
    """Return the method with this name. Raises OptionError: the name is unknown."""
    if name not in methods:
        raise OptionError(
            f"Unknown masking method {name!r}; choose from {', '.join(methods)}.", where="method"
        )
    return methods[name]
