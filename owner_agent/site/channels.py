"""The channels in a site file, and their transition matrices. Invalid ones raise ChannelError."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from functools import cache, partial
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from owner_agent.site.sections import Finite, Section
from pramana_core.alike import did_you_mean, first_few
from pramana_core.channels import (
    CHOICES,
    LISTED_ENTRIES,
    MIXTURE_CELLS,
    RESOLUTION,
    Choice,
    CutAndPaste,
    Dense,
    Grouped,
    Mixture,
    OneHot,
    RandomSymmetric,
    Sampled,
    SubsetSelection,
    Symmetric,
    Transition,
    set_channel,
)
from pramana_core.domain import Domain, Variable
from pramana_core.errors import ChannelError, OptionError, UnknownCategory, UnknownVariable


class ChannelSpec(Section):
    """The base class of channel descriptions. Instances are frozen, and unknown keys are errors."""

    one_of: ClassVar[tuple[str, ...]] = ()
    """Alternative keys; a channel has exactly one."""

    @model_validator(mode="after")
    def _one(self) -> Self:
        given = [name for name in self.one_of if getattr(self, name) is not None]
        if self.one_of and len(given) != 1:
            kind = getattr(self, "kind", "such")
            keys = f"{', '.join(self.one_of[:-1])} and {self.one_of[-1]}"
            raise ValueError(f"a {kind} channel needs exactly one of {keys}, not {len(given)}")
        return self


class Amplified(ChannelSpec):
    """A channel whose strength is `gamma`, the amplification bound, or `epsilon` = ln gamma."""

    one_of: ClassVar[tuple[str, ...]] = ("gamma", "epsilon")
    gamma: Finite | None = None
    epsilon: Finite | None = None

    @property
    def amplification(self) -> float:
        """The amplification bound, gamma. Raises ChannelError if epsilon is too large."""
        if self.gamma is not None:
            return self.gamma
        try:
            return math.exp(self.epsilon or 0.0)
        except OverflowError:
            raise ChannelError(
                f"An epsilon of {self.epsilon} is too large for any protection.",
                remedy="Choose a smaller epsilon.",
            ) from None


class Replacing(Amplified):
    """A channel composed of symmetric channels. `p` is the probability of a replacement."""

    one_of: ClassVar[tuple[str, ...]] = ("p", "gamma", "epsilon")
    p: Finite | None = None

    def symmetric(self, size: int) -> Symmetric:
        """Return the symmetric channel over `size` categories. Raises ChannelError."""
        if self.p is not None:
            return Symmetric.from_probability(size, self.p)
        return Symmetric.from_gamma(size, self.amplification)


class SymmetricSpec(Replacing):
    """Keep a category, or change to any other with equal chance (Ma 2.1, FRAPP eq. 13)."""

    kind: Literal["symmetric"]

    def transition(self, variables: tuple[Variable, ...]) -> Transition:
        """Return the channel over the variables' product."""
        size = Domain(variables).size
        require_at_most(EXPRESSIBLE, size)
        return self.symmetric(size)


class GammaDiagonalSpec(Amplified):
    """FRAPP's gamma-diagonal matrix over a whole record of up to 2^62 cells."""

    kind: Literal["gamma-diagonal"]

    def transition(self, variables: tuple[Variable, ...]) -> Transition:
        """Return the mixture over the variables' product (FRAPP eq. 13)."""
        return Mixture.from_gamma(Domain(variables).size, self.amplification)


class RandomGammaDiagonalSpec(ChannelSpec):
    """A different matrix for every record (RAN-GD, FRAPP 4). `share` is alpha / (gamma x)."""

    kind: Literal["random-gamma-diagonal"]
    gamma: Finite
    share: Finite = 0.5

    def transition(self, variables: tuple[Variable, ...]) -> Transition:
        """Return the channel over the variables' product. Raises ChannelError, OptionError."""
        size = Domain(variables).size
        require_at_most(EXPRESSIBLE, size)
        return RandomSymmetric.around_gamma(size, self.gamma, self.share)


class CyclicSpec(ChannelSpec):
    """Ma's schemes: change to the next of three categories with `p1`, to the one after with `p2`.

    For two categories, `p1` is the probability of changing the first to the second, and `p2` of
    changing the second to the first.
    """

    kind: Literal["binary", "ternary"]
    p1: Finite
    p2: Finite

    def transition(self, variables: tuple[Variable, ...]) -> Transition:
        """Return the channel over two or three categories."""
        require_size(2 if self.kind == "binary" else 3, variables)
        return (Dense.binary if self.kind == "binary" else Dense.ternary)(self.p1, self.p2)


class MatrixSpec(ChannelSpec):
    """Any matrix. Row l lists the probabilities of all reports if l is the true category."""

    kind: Literal["matrix"]
    rows: tuple[tuple[Finite, ...], ...]

    def transition(self, variables: tuple[Variable, ...]) -> Transition:
        """Return the channel over the variables' product."""
        channel = Dense.from_probabilities(self.rows)
        require_size(channel.shape[0], variables)
        return channel


class GroupedSpec(Replacing):
    """Groups of categories, with a symmetric channel inside each group.

    A category of a joint block is written like `"male*high"`.
    """

    kind: Literal["grouped"]
    groups: tuple[tuple[str, ...], ...]

    def transition(self, variables: tuple[Variable, ...]) -> Transition:
        """Return the channel over the variables. Raises UnknownCategory, ChannelError."""
        require_at_most(LISTED, Domain(variables).size)
        codes = labels(variables)
        require_known([c for group in self.groups for c in group], codes, "groups")
        self._require_partition(codes)
        return Grouped.alike([[codes[c] for c in group] for group in self.groups], self.symmetric)

    def _require_partition(self, codes: dict[str, int]) -> None:
        times = Counter(category for group in self.groups for category in group)
        twice = [category for category in codes if times[category] > 1]
        missed = [category for category in codes if not times[category]]
        if twice or missed or not all(self.groups):
            raise ChannelError(
                "The groups must be nonempty and contain each category exactly once; "
                f"{len(twice)} categories [{first_few(map(repr, twice))}] are repeated and "
                f"{len(missed)} [{first_few(map(repr, missed))}] are missing.",
                where="groups",
                remedy="Put every category into exactly one group.",
            )


class SubsetSpec(Amplified):
    """Report a subset of the categories, with a raised chance of the true one (Ye and Barg)."""

    kind: Literal["subset"]

    def transition(self, variables: tuple[Variable, ...]) -> Transition:
        """Return the channel of a single variable. Raises ChannelError."""
        if len(variables) > 1:
            raise ChannelError(
                f"A subset channel randomizes one variable, but the block has {len(variables)}.",
                remedy="Give each variable a separate subset channel; the gammas multiply.",
            )
        return SubsetSelection.from_gamma(variables[0].size, self.amplification)


class MaskSpec(ChannelSpec):
    """MASK: each category is an item, reported unchanged with probability `p` (FRAPP 7)."""

    one_of: ClassVar[tuple[str, ...]] = ("p", "gamma")
    kind: Literal["mask"]
    p: Finite | None = None
    gamma: Finite | None = None

    def transition(self, variables: tuple[Variable, ...]) -> Transition:
        """Return the channel of a single variable. Raises ChannelError."""
        if len(variables) > 1:
            raise ChannelError(
                f"A MASK channel randomizes one variable, but the block has {len(variables)}.",
                remedy="Give each variable a separate MASK channel; the gammas multiply.",
            )
        if self.p is not None:
            return OneHot.from_probability(variables[0].size, self.p)
        return OneHot.from_gamma(variables[0].size, self.gamma or 0.0)


class CutAndPasteSpec(ChannelSpec):
    """Keep at most `keep` of a record's items, and insert each other item with probability `rho`.

    The source is FRAPP eq. 12.
    """

    one_of: ClassVar[tuple[str, ...]] = ("rho", "gamma")
    kind: Literal["cut-and-paste"]
    keep: Annotated[int, Field(ge=0)]
    rho: Finite | None = None
    gamma: Finite | None = None

    def transition(self, variables: tuple[Variable, ...]) -> Transition:
        """Return the channel of the variables. Raises OptionError if no rho attains gamma."""
        domain = Domain(variables)
        require_at_most(COUNTABLE, domain.size)
        if self.rho is not None:
            return CutAndPaste.from_probability(domain.shape, self.keep, self.rho)
        return CutAndPaste.from_gamma(domain.shape, self.keep, self.gamma or 0.0)


class SampledSpec(Amplified):
    """Each record reports one subset of the variables, at full `gamma`, and withholds the others.

    `size` selects all subsets of that many variables. `weights` are the probabilities of the
    subsets. With `report` = "subset", a subset of variables with many combinations of categories is
    reported by subset selection if that is more accurate.
    """

    kind: Literal["sampled"]
    subsets: tuple[tuple[str, ...], ...] | None = None
    size: Annotated[int, Field(ge=1)] | None = None
    weights: tuple[Finite, ...] | None = None
    report: Literal["category", "subset"] = "category"

    @model_validator(mode="after")
    def _subsets_or_size(self) -> Self:
        if (self.subsets is None) == (self.size is None):
            raise ValueError("a sampled channel takes exactly one of 'subsets' and 'size'")
        return self

    def transition(self, variables: tuple[Variable, ...]) -> Transition:
        """Return the channel of the variables. Raises UnknownVariable, OptionError."""
        domain = Domain(variables)
        subsets = self._axes(domain)
        weights = _apportioned(self.weights or (1 / len(subsets),) * len(subsets), len(subsets))
        sizes = [math.prod(domain.shape[axis] for axis in axes) for axes in subsets]
        for size in sizes:
            require_at_most(COUNTABLE, size)
        # Thousands of subsets share one or two channels.
        made = cache(partial(set_channel, subsets=self.report == "subset"))
        return Sampled(
            domain.shape,
            tuple(
                Choice(axes, weight, made(size, self.amplification))
                for axes, weight, size in zip(subsets, weights, sizes, strict=True)
            ),
        )

    def _axes(self, domain: Domain) -> list[tuple[int, ...]]:
        if self.size is not None:
            number = math.comb(len(domain), self.size)
            if not 1 <= number <= CHOICES:
                raise ChannelError(
                    f"{len(domain)} variables have {number} subsets of {self.size}; a sampled"
                    f" channel can have 1 to {CHOICES} subsets.",
                    where="size",
                    remedy="Choose another size, or list the needed subsets.",
                )
            return list(itertools.combinations(range(len(domain)), self.size))
        named = self.subsets or ()
        unknown = sorted({name for subset in named for name in subset if name not in domain})
        if unknown:
            raise UnknownVariable(
                f"The subsets name {unknown}, which the block does not have"
                f"{did_you_mean(unknown, domain.names)}.",
                where="subsets",
                remedy=f"The block's variables are {list(domain.names)}.",
            )
        axes = [tuple(sorted({domain.axis(name) for name in subset})) for subset in named]
        whole = all(len(own) == len(names) > 0 for own, names in zip(axes, named, strict=True))
        if not axes or not whole or len(set(axes)) < len(axes):
            raise ChannelError(
                f"The subsets must be different sets of variables, not {list(map(list, named))}.",
                where="subsets",
                remedy="Name every subset once, and no variable twice in a subset.",
            )
        return axes


def _apportioned(weights: tuple[float, ...], subsets: int) -> list[int]:
    """Return weights as integers that sum to 2^32, each within 1 of its exact share."""
    if len(weights) != subsets:
        raise OptionError(
            f"The channel has {len(weights)} weights for {subsets} subsets.",
            where="weights",
            remedy="Give one probability per subset.",
        )
    total = math.fsum(weights)
    if min(weights) <= 0 or abs(total - 1) > 1e-9:
        raise ChannelError(
            f"The weights of the subsets sum to {total:.9g}; the smallest is {min(weights):.6g}.",
            where="weights",
            remedy="Give positive probabilities that sum to 1.",
        )
    # Halves round up, not to even, so that a weight of 2^-32 or more keeps at least a unit.
    bounds = [math.floor(sum_ / total * RESOLUTION + 0.5) for sum_ in itertools.accumulate(weights)]
    bounds[-1] = RESOLUTION
    units = [high - low for low, high in itertools.pairwise([0, *bounds])]
    if 0 in units:
        raise ChannelError(
            f"A weight of {weights[units.index(0)]:.6g} is too small; the smallest weight "
            "allowed is 2^-32.",
            where="weights",
            remedy="Increase the weight, or remove the subset.",
        )
    return units


AnyChannel = Annotated[
    SymmetricSpec
    | GammaDiagonalSpec
    | RandomGammaDiagonalSpec
    | CyclicSpec
    | MatrixSpec
    | GroupedSpec
    | SubsetSpec
    | MaskSpec
    | CutAndPasteSpec
    | SampledSpec,
    Field(discriminator="kind"),
]


def labels(variables: tuple[Variable, ...]) -> dict[str, int]:
    """Return the code of each combination of categories, named `a*b`. Raises ChannelError."""
    product = itertools.product(*(v.categories for v in variables))
    written = ["*".join(combination) for combination in product]
    codes = {label: code for code, label in enumerate(written)}
    if len(codes) < len(written):
        twice = [label for label, times in Counter(written).items() if times > 1]
        raise ChannelError(
            f"{len(twice)} names denote more than one combination of categories, such as"
            f" {twice[:1]}.",
            remedy="Rename the categories of the joint block whose names contain a star.",
        )
    return codes


def require_known(named: list[str], codes: dict[str, int], where: str) -> None:
    """Check that the named categories exist. Raises UnknownCategory, which lists unknown ones."""
    unknown = [category for category in named if category not in codes]
    if unknown:
        raise UnknownCategory(
            f"The {where} name unknown categories: {unknown}{did_you_mean(unknown, codes)}.",
            remedy="Use the spelling of the variable's categories.",
        )


def require_size(size: int, variables: tuple[Variable, ...]) -> None:
    """Check that variables have `size` combinations of categories. Raises ChannelError."""
    wanted = Domain(variables).size
    if wanted != size:
        require_at_most(LISTED, wanted)
        raise ChannelError(
            f"The channel is for {size} categories, but the variables have {wanted}.",
            remedy="Define a channel for this count of categories.",
        )


LISTED = math.isqrt(LISTED_ENTRIES), "a listed matrix allows"
EXPRESSIBLE = RESOLUTION, "probabilities in multiples of 2^-32 allow"
COUNTABLE = MIXTURE_CELLS, "a block allows"


def require_at_most(limit: tuple[int, str], size: int) -> None:
    """Check that a block has at most `limit` combinations of categories. Raises ChannelError."""
    if size > limit[0]:
        raise ChannelError(
            f"The block has {size} combinations of categories, but {limit[0]} is the most that "
            f"{limit[1]}.",
            remedy='Use kind = "gamma-diagonal" or "sampled", which need no list, or reduce the'
            " variables of the block.",
        )
