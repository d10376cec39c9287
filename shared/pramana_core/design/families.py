"""The plans to choose among: for every family the most accurate one that meets the requirements.

Also here:

* What an owner demands: how much may be learned about a variable, and about the whole record.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from pramana_core.channels import (
    CHOICES,
    RESOLUTION,
    SHARE,
    Choice,
    CutAndPaste,
    Identity,
    Mixture,
    OneHot,
    Product,
    RandomSymmetric,
    Sampled,
    Symmetric,
    Transition,
    most_accurate,
)
from pramana_core.design.goal import shares
from pramana_core.domain import Domain
from pramana_core.errors import OptionError
from pramana_core.marginals.counts import Tensor
from pramana_core.plan import Block, Plan
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


ITEMS = 32
"""Cut and paste is looked at for up to this many variables."""

Build = Callable[[Requirements], Plan]


def independent(needs: Requirements) -> Plan:
    """Every variable by a symmetric channel of its own (Ma 2.1)."""
    return _each(needs, Symmetric.from_gamma)


def mask_channel(needs: Requirements) -> Plan:
    """Every variable by the MASK channel: each category is flipped by itself (FRAPP 7)."""
    return _each(needs, OneHot.from_gamma)


def gamma_diagonal(needs: Requirements) -> Plan:
    """The whole record by one gamma-diagonal matrix (DET-GD, FRAPP 3)."""
    return _whole(needs, lambda sizes, gamma: Mixture.from_gamma(math.prod(sizes), gamma))


def random_gamma_diagonal(needs: Requirements) -> Plan:
    """The whole record by a matrix drawn anew for every record (RAN-GD, FRAPP 4)."""
    return _whole(
        needs, lambda sizes, gamma: RandomSymmetric.around_gamma(math.prod(sizes), gamma, SHARE)
    )


def cut_and_paste(keep: int) -> Build:
    """Return the family that keeps up to `keep` items of the record (FRAPP eq. 12)."""

    def build(needs: Requirements) -> Plan:
        if len(needs.sensitive) > ITEMS:
            raise OptionError(
                f"It is not looked at for more than {ITEMS} variables: what their items tell of"
                " each other is too little."
            )
        if keep > len(needs.sensitive):
            raise OptionError(f"{keep} items cannot be kept of {len(needs.sensitive)} variables.")
        return _whole(needs, lambda sizes, gamma: CutAndPaste.from_gamma(sizes, keep, gamma))

    return build


def sampled(subsets: Sequence[tuple[str, ...]], weights: Tensor | None = None) -> Build:
    """Return the family that reports one of some subsets of the variables, each at full gamma.

    Args:
        subsets: sets of sensitive variables, in the domain's order, that cover all of them.
        weights: probabilities of the subsets; default equal.
    """

    def build(needs: Requirements) -> Plan:
        chances = np.full(len(subsets), 1 / len(subsets)) if weights is None else weights
        place = {name: i for i, name in enumerate(needs.sensitive)}
        choices = []
        for names, units in zip(subsets, _units(chances), strict=True):
            axes = tuple(place[name] for name in names)
            choices.append(Choice(axes, units, channel_of(needs, names)))
        return _whole(needs, lambda sizes, _: Sampled(sizes, tuple(choices)))

    return build


def channel_of(needs: Requirements, names: Sequence[str]) -> Transition:
    """Return the most accurate channel that reports some sensitive variables together.

    Where they lie at several owners, each owner's part has a channel and a share of the epsilon.
    """
    parts = needs.by_owner(names)
    sizes = tuple(math.prod(needs.domain[n].size for n in part) for part in parts)
    if len(parts) == 1:
        return most_accurate(sizes[0], needs.of_block(names))
    most = tuple(math.log(needs.of_block(part)) for part in parts)
    each = shares(sizes, most, math.log(needs.together(names)))
    made = (most_accurate(size, math.exp(own)) for size, own in zip(sizes, each, strict=True))
    return Product(tuple(map(len, parts)), tuple(made))


def subsets_of(needs: Requirements, size: int) -> tuple[tuple[str, ...], ...]:
    """Return all sets of `size` sensitive variables. Raises OptionError if there are too many."""
    count = math.comb(len(needs.sensitive), size)
    if count > CHOICES:
        raise OptionError(
            f"There are {count:,} sets of {size} variables; a block has at most {CHOICES:,}.",
            remedy="Name the sets of variables that matter.",
        )
    return tuple(itertools.combinations(needs.sensitive, size))


def families(needs: Requirements, sets: Sequence[tuple[str, ...]]) -> Iterator[tuple[str, Build]]:
    """Yield every family by name: those that need a subset size once for each useful one.

    `sets` are the tables wanted; blocks sampled among exactly these are a family too. Several
    owners can only sample: nobody holds the whole record.
    """
    count = len(needs.sensitive)
    if not needs.owners:
        yield from _of_one_owner(count)
    for size in range(1, min(count - 1, 3) + 1):
        yield f"sampled-{size}", _sampled_by_size(size)
    wanted = tuple(
        dict.fromkeys(s for names in sets if (s := tuple(n for n in names if n in needs.variables)))
    )
    lengths = sorted({len(s) for s in wanted})
    held = {
        part
        for names in wanted
        for k in lengths
        if k < len(names)
        for part in itertools.combinations(names, k)
    }
    largest = tuple(s for s in wanted if s not in held)
    covered = {name for names in largest for name in names} == set(needs.sensitive)
    uniform = len({len(s) for s in largest}) == 1
    if covered and 1 < len(largest) <= CHOICES and not uniform:
        yield "sampled-sets", sampled(largest)


def _of_one_owner(count: int) -> Iterator[tuple[str, Build]]:
    yield "independent", independent
    if count > 1:
        yield "gamma-diagonal", gamma_diagonal
        yield "random-gamma-diagonal", random_gamma_diagonal
    yield "mask", mask_channel
    for keep in range(1, min(count, 4) + 1):
        yield f"cut-and-paste-{keep}", cut_and_paste(keep)


def _sampled_by_size(size: int) -> Build:
    return lambda needs: sampled(subsets_of(needs, size))(needs)


def _each(needs: Requirements, make: Callable[[int, float], Transition]) -> Plan:
    """Return the plan that gives every variable a channel of its own, of its share of gamma."""
    own = [(needs.domain[name], gamma) for name, gamma in needs.split().items()]
    return _with_public(needs, [Block((v,), make(v.size, gamma)) for v, gamma in own])


def _whole(needs: Requirements, make: Callable[[tuple[int, ...], float], Transition]) -> Plan:
    """Return the plan that gives all sensitive variables together one channel, of their gamma."""
    block = tuple(needs.domain[name] for name in needs.sensitive)
    channel = make(tuple(v.size for v in block), needs.of_block(needs.sensitive))
    return _with_public(needs, [Block(block, channel)])


def _with_public(needs: Requirements, blocks: list[Block]) -> Plan:
    """Add the public variables as they are; blocks stand in the domain's order."""
    public = [v for v in needs.domain if v.name not in needs.variables]
    blocks = blocks + [Block((v,), Identity(v.size)) for v in public]
    return Plan(tuple(sorted(blocks, key=lambda block: needs.domain.axis(block.names[0]))))


def _units(chances: Tensor) -> list[int]:
    """Return positive integers that sum to 2^32, in proportion to probabilities.

    Those are the ends of an iteration: they are rounded, and counted in whole numbers from there.
    Fractions lie in the middle between two parts, and go up however they were rounded. Elsewhere
    no rounding has a place where the last digits never decide. Between kernels probabilities of
    `best_weights` differed by less than 1e-14 of themselves (those of `mixed_sets` by nothing),
    parts are 1e-7 wide, and the probabilities sum to one: of ten million plans about one can have
    another digest.
    """
    total = math.fsum(chances)
    parts = [math.floor(float(chance) / total * _PARTS + _UP) for chance in chances]
    units = [max(1, part * RESOLUTION // sum(parts)) for part in parts]
    units[units.index(max(units))] += RESOLUTION - sum(units)
    return units


_PARTS = 10**7
"""A probability of a set is published to so many parts of one."""

_UP = 0.5 + 1e-5
"""A middle goes up, and so does what rounding leaves of it."""
