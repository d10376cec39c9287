"""What a custodian demands: how much may be learned about a variable and about the whole record."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from pramana_core.domain import Domain
from pramana_core.errors import OptionError
from pramana_core.privacy import gamma_for_breach


def gamma_of_epsilon(epsilon: float) -> float:
    """Return e^epsilon. Raises OptionError unless epsilon is positive and finite in effect."""
    if not 0 < epsilon < 700:
        raise OptionError(
            f"epsilon must be above 0 and below 700, not {epsilon}.",
            where="epsilon",
            remedy="Give a positive epsilon, usually between 0.1 and 5.",
        )
    return math.exp(epsilon)


def gamma_of_p(size: int, p: float) -> float:
    """Return the amplification of replacing each of `size` categories with probability `p`.

    (K - 1)(1 - p)/p (Ma 3.1.2). Raises OptionError where p hides nothing or everything.
    """
    if not 0 < p < (size - 1) / size:
        raise OptionError(
            f"p must be above 0 and below {size - 1}/{size} for {size} categories, not {p}.",
            where="p",
            remedy=f"At {size - 1}/{size} reports are pure noise.",
        )
    return (size - 1) * (1 - p) / p


def gamma_of_breach(rho: Sequence[float]) -> float:
    """Return the largest amplification under which rho_1 cannot grow to rho_2 (FRAPP eq. 2)."""
    if len(rho) != 2:
        raise OptionError("A breach must be a pair rho_1, rho_2.", where="rho")
    return gamma_for_breach(rho[0], rho[1])


@dataclass(frozen=True)
class Requirements:
    """The largest amplification allowed, per sensitive variable and about the whole record.

    Variables of the domain that are not in `variables` are public and not randomized. Where `whole`
    is None only single variables are limited. `owners` are the names and variables of several
    owners of the same records, empty where one holds all.

    Raises:
        OptionError: no sensitive variable, an unknown one, or a gamma that is not above 1; or
            owners that do not hold every variable once, in the domain's order, or without a limit
            about the whole record, or a public variable of theirs.
    """

    domain: Domain
    variables: Mapping[str, float]
    whole: float | None = None
    owners: tuple[tuple[str, tuple[str, ...]], ...] = ()

    def __post_init__(self) -> None:
        if not self.variables:
            raise OptionError(
                "No variable is sensitive; nothing is to be designed.",
                remedy="Say which variables need protection.",
            )
        for name, gamma in self.variables.items():
            self.domain.axis(name)
            require_gamma(gamma, name)
        if self.whole is not None:
            require_gamma(self.whole, "the whole record")
        if self.owners:
            self._require_owners()

    def _require_owners(self) -> None:
        listed = [name for _, names in self.owners for name in names]
        labels = [name for name, _ in self.owners]
        if listed != list(self.domain.names) or len(set(labels)) < len(labels):
            raise OptionError(
                "Owners must hold every variable once, and the variables stand owner by owner.",
                where="owners",
            )
        public = [name for name in listed if name not in self.variables]
        if public:
            raise OptionError(
                f"{public} are not sensitive: a study plan over several owners has no public"
                " variables.",
                where=public[0],
                remedy="Leave them out of the design; a public variable needs none.",
            )
        if self.whole is None:
            raise OptionError(
                "Nothing is demanded for the whole record, which several owners report.",
                where="whole_record",
                remedy="Give gamma, epsilon or rho for the whole record, over all owners.",
            )

    @cached_property
    def sensitive(self) -> tuple[str, ...]:
        """The variables to randomize, in the domain's order."""
        return tuple(name for name in self.domain.names if name in self.variables)

    def of_block(self, names: Sequence[str]) -> float:
        """Return the largest gamma a joint report of these variables may have."""
        limit = min(self.variables[name] for name in names)
        return limit if self.whole is None else min(limit, self.whole)

    def together(self, names: Sequence[str]) -> float:
        """Return the largest gamma that reports of these variables may have over all owners."""
        whole = self.whole
        return self.of_block(names) if whole is None or not self.owners else whole

    def by_owner(self, names: Sequence[str]) -> list[tuple[str, ...]]:
        """Return variables in the domain's order by who holds them."""
        if not self.owners:
            return [tuple(names)]
        place = self._places
        return [tuple(own) for _, own in itertools.groupby(names, key=place.__getitem__)]

    @cached_property
    def _places(self) -> dict[str, int]:
        return {name: i for i, (_, names) in enumerate(self.owners) for name in names}

    def split(self) -> dict[str, float]:
        """Return a gamma per variable for independent channels.

        Independent amplifications multiply (Ma 7.1.3), so the epsilon of the whole record is
        divided equally; what a variable may not use the others share.
        """
        if self.whole is None:
            return dict(self.variables)
        left, budget, given = list(self.sensitive), math.log(self.whole), dict[str, float]()
        while left:
            share = budget / len(left)
            capped = [n for n in left if math.log(self.variables[n]) <= share]
            if not capped:
                return given | dict.fromkeys(left, math.exp(share))
            for name in capped:
                given[name] = self.variables[name]
                budget -= math.log(self.variables[name])
                left.remove(name)
        return given


def require_gamma(gamma: float, of: str = "") -> None:
    """Raise OptionError unless a gamma, demanded for `of`, is above 1."""
    if not gamma > 1 or math.isnan(gamma):
        whose = f" for {of}" if of else ""
        raise OptionError(
            f"gamma{whose} must be above 1, not {gamma:g}: otherwise reports are pure noise.",
            where=of or "gamma",
            remedy="Any gamma above 1 can be reached; the closer to 1, the more records it takes.",
        )
