"""What an owner demands: how much may be learned about a variable, and about the whole record."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from pramana_core.domain import Domain
from pramana_core.errors import OptionError
from pramana_core.plan import Plan
from pramana_core.privacy import gamma_for_breach, k_anonymity

PLAUSIBLE = 0.01
"""A category counts towards a minimum K if its posterior under equal priors is above this."""


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
            remedy=f"At {size - 1}/{size} reports say nothing.",
        )
    return (size - 1) * (1 - p) / p


def gamma_of_minimum_k(size: int, k: int, plausible: float = PLAUSIBLE) -> float:
    """Return the largest symmetric amplification that leaves `k` categories plausible.

    After any report, that is. A symmetric channel leaves all `size` or one: every other category
    keeps, under equal priors, the posterior 1/(gamma + size - 1) (Ma 3.1.3, with the threshold of
    Ma 8(b)).

    Raises:
        OptionError: the variable has fewer categories than `k`, or no gamma above 1 will do; the
            message says what is reachable.
    """
    if k > size:
        raise OptionError(
            f"No channel leaves {k} of {size} categories plausible.",
            where="minimum_k",
            remedy=f"The nearest that can be reached is {size}.",
        )
    if k <= 1:
        raise OptionError(f"minimum_k must be above 1, not {k}.", where="minimum_k")
    largest = 1 / plausible - (size - 1)
    if largest <= 1:
        raise OptionError(
            f"With equal priors, no accurate report can leave all of {size} categories a posterior"
            f" above {plausible:g}.",
            where="minimum_k",
            remedy="Merge categories, or demand gamma instead.",
        )
    # Plausible is above the threshold, not at it.
    return largest * (1 - 1e-9)


def gamma_of_breach(rho: Sequence[float]) -> float:
    """Return the largest amplification under which rho_1 cannot grow to rho_2 (FRAPP eq. 2)."""
    if len(rho) != 2:
        raise OptionError("A breach must be a pair rho_1, rho_2.", where="rho")
    return gamma_for_breach(rho[0], rho[1])


@dataclass(frozen=True)
class Requirements:
    """The largest amplification allowed, per sensitive variable and about the whole record.

    Variables of the domain that are not in `variables` are public: they are not randomized. Where
    `whole` is None only the variables themselves are limited. `plausible` is the least number of
    categories that any report must leave plausible (see `gamma_of_minimum_k`); a gamma alone keeps
    it for symmetric channels only, so it is asked of every plan. `owners` are the names and
    variables of several owners of the same records, none where one holds all.

    Raises:
        OptionError: no sensitive variable, an unknown one, or a gamma that is not above 1; or
            owners that do not hold every variable once, in the domain's order, or without a limit
            about the whole record, or a public variable of theirs.
    """

    domain: Domain
    variables: Mapping[str, float]
    whole: float | None = None
    plausible: Mapping[str, int] = field(default_factory=dict)
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
        held = [name for _, names in self.owners for name in names]
        labels = [name for name, _ in self.owners]
        if held != list(self.domain.names) or len(set(labels)) < len(labels):
            raise OptionError(
                "Owners must hold every variable once, and the variables stand owner by owner.",
                where="owners",
            )
        public = [name for name in held if name not in self.variables]
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

    def unmet(self, plan: Plan) -> str:
        """Say which variable's reports leave too few categories plausible; "" if none does."""
        for name, least in self.plausible.items():
            block = plan.block_of(name)
            channel = block.restrict([name]) or block.channel
            left = k_anonymity(channel, None, PLAUSIBLE).categories
            if left < least:
                return (
                    f"A report can leave {left} categories of {name!r} plausible, not {least}, at"
                    " this gamma; demand a smaller gamma to have it."
                )
        return ""

    def scaled(self, power: float) -> Requirements:
        """Return the same requirements with every epsilon multiplied by `power`."""
        return Requirements(
            self.domain,
            {name: gamma**power for name, gamma in self.variables.items()},
            None if self.whole is None else self.whole**power,
            self.plausible,
            self.owners,
        )


def require_gamma(gamma: float, of: str = "") -> None:
    """Raise OptionError unless a gamma, demanded for `of`, is above 1."""
    if not gamma > 1 or math.isnan(gamma):
        whose = f" for {of}" if of else ""
        raise OptionError(
            f"gamma{whose} must be above 1, not {gamma:g}: otherwise reports say nothing.",
            where=of or "gamma",
            remedy="Any gamma above 1 can be reached; the closer to 1, the more records it takes.",
        )
