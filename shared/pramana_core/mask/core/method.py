"""What a masking method is to those who choose between methods: how to run it, what it promises."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from pramana_core.errors import OptionError
from pramana_core.mask.core.masked import Masked
from pramana_core.mask.core.randomness import Randomness


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
                f"Method {self.name!r} has no option {unknown[0]!r}; it takes {takes}.",
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
