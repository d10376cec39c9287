"""The requirements of a custodian on how much reports may reveal about a whole record."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType

from pramana_core.domain import Domain
from pramana_core.errors import OptionError
from pramana_core.privacy import GAMMA_LIMIT, CentralLoss, gamma_for_breach


def gamma_of_epsilon(epsilon: float) -> float:
    """Return e^epsilon. Raises OptionError unless epsilon is positive and below 700."""
    if not 0 < epsilon < 700:
        raise OptionError(
            f"epsilon must be above 0 and below 700, not {epsilon}.",
            where="epsilon",
            remedy="Give a positive epsilon, usually between 0.1 and 5.",
        )
    return math.exp(epsilon)


def gamma_of_p(size: int, p: float) -> float:
    """Return the amplification if each of `size` categories is replaced with probability `p`.

    It is (K - 1)(1 - p)/p for K categories (Ma 3.1.2). Raises OptionError if, with this p, reports
    hide nothing or reveal nothing.
    """
    if not 0 < p < (size - 1) / size:
        raise OptionError(
            f"p must be above 0 and below {size - 1}/{size} for {size} categories, not {p}.",
            where="p",
            remedy=f"At p = {size - 1}/{size}, reports are pure noise.",
        )
    return (size - 1) * (1 - p) / p


def gamma_of_breach(rho: Sequence[float]) -> float:
    """Return the largest amplification for which rho_1 cannot grow to rho_2 (FRAPP eq. 2)."""
    if len(rho) != 2:
        raise OptionError("A breach must have two values, rho_1 and rho_2.", where="breach")
    return gamma_for_breach(rho[0], rho[1])


@dataclass(frozen=True)
class Requirements:
    """The maximum amplification of a whole record over all owners.

    `public` variables are not randomized. `owners` has the names and variables of owners who have
    the same records. With `subsets`, sampled sets with many categories report subsets of their
    cells. `central` also limits the central bound that the plan states, if no other release has
    the same records. Raises UnknownVariable. OptionError: no variable is sensitive, gamma is not
    above 1, the owners' variables are not all variables once, in the domain's order, or there is a
    central bound and public variables distinguish records.
    """

    domain: Domain
    gamma: float
    public: tuple[str, ...] = ()
    owners: tuple[tuple[str, tuple[str, ...]], ...] = ()
    subsets: bool = False
    central: CentralLoss | None = None

    @classmethod
    def of(
        cls,
        domain: Domain,
        gamma: float | None = None,
        epsilon: float | None = None,
        breach: Sequence[float] | None = None,
        public: Sequence[str] = (),
        owners: Mapping[str, Sequence[str]] = MappingProxyType({}),
        central: CentralLoss | None = None,
    ) -> Requirements:
        """Return the requirements for exactly one of `gamma`, `epsilon` = ln gamma, and `breach`.

        `breach` has two probabilities; a belief of the first may not grow beyond the second (FRAPP
        eq. 2). With `central`, gamma is `GAMMA_LIMIT` by default. Raises OptionError.
        """
        demands = {"gamma": gamma, "epsilon": epsilon, "breach": breach}
        if central is not None and all(value is None for value in demands.values()):
            demands["gamma"] = gamma = GAMMA_LIMIT
        if len(given := [name for name, value in demands.items() if value is not None]) != 1:
            raise OptionError(
                "Give exactly one of gamma, epsilon and breach to limit what is revealed about a"
                f" whole record, such as gamma 19; given: {' and '.join(given) or 'none'}.",
                where="gamma",
            )
        if epsilon is not None:
            gamma = gamma_of_epsilon(epsilon)
        elif breach is not None:
            gamma = gamma_of_breach(breach)
        owned = tuple((owner, tuple(names)) for owner, names in owners.items())
        return cls(domain, gamma or 0.0, tuple(public), owned, central=central)

    def __post_init__(self) -> None:
        for name in self.public:
            self.domain.axis(name)
        if not self.sensitive:
            raise OptionError(
                "A design needs one or more sensitive variables.",
                remedy="Name the variables that need protection.",
            )
        require_gamma(self.gamma)
        if self.public and self.central is not None:
            raise OptionError(
                "A central epsilon requires indistinguishable records, but the public columns"
                f" {list(self.public)} distinguish them.",
                where="central_epsilon",
                remedy="Give --gamma, or protect these columns too.",
            )
        if self.owners:
            self._require_owners()

    def _require_owners(self) -> None:
        listed = [name for _, names in self.owners for name in names]
        labels = [name for name, _ in self.owners]
        if listed != list(self.domain.names) or len(set(labels)) < len(labels):
            raise OptionError(
                "Each variable must have one owner, and variables must be listed by owner.",
                where="owners",
            )
        if self.public:
            raise OptionError(
                f"{list(self.public)} are not sensitive: a study plan over several owners cannot"
                " have public variables.",
                where=self.public[0],
                remedy="Omit them from the design; a public variable needs no design.",
            )

    @cached_property
    def sensitive(self) -> tuple[str, ...]:
        """The variables that must be randomized, in the domain's order."""
        return tuple(name for name in self.domain.names if name not in self.public)

    @property
    def share(self) -> float:
        """The gamma of one variable if all variables have equal shares of epsilon (Ma 7.1.3)."""
        count = len(self.sensitive)
        return self.gamma if count == 1 else math.exp(math.log(self.gamma) / count)

    def by_owner(self, names: Sequence[str]) -> list[tuple[str, ...]]:
        """Return some variables as groups, one per owner, in the domain's order."""
        if not self.owners:
            return [tuple(names)]
        place = {name: i for i, (_, names) in enumerate(self.owners) for name in names}
        return [tuple(own) for _, own in itertools.groupby(names, key=place.__getitem__)]


def require_gamma(gamma: float) -> None:
    """Raise OptionError unless gamma is finite and above 1."""
    if not 1 < gamma < math.inf:
        raise OptionError(
            f"gamma must be finite and above 1, not {gamma:g}; at 1, reports are pure noise.",
            where="gamma",
            remedy="Choose a gamma above 1; the closer it is to 1, the more records it needs.",
        )
