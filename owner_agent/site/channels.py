"""The channels a `site.toml` can ask for, and the transition matrices they become.

Every `transition` method takes the variables the channel is for, in their order, and raises
ChannelError (NotStochastic for an invalid probability) where there is no such channel.
"""

from __future__ import annotations

from collections import Counter
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from owner_agent.site.sampled_blocks import SampledSpec
from owner_agent.site.strengths import (
    Amplified,
    ChannelSpec,
    Number,
    Replacing,
    labels,
    require_countable,
    require_expressible,
    require_known,
    require_listable,
    require_multipliable,
    require_size,
)
from pramana_core.channels import (
    CutAndPaste,
    Dense,
    Grouped,
    Mixture,
    OneHot,
    RandomSymmetric,
    StructuralZeros,
    Transition,
    require_prior,
)
from pramana_core.domain import Domain, Variable
from pramana_core.errors import ChannelError, OptionError

_SHOWN = 5
"""How many categories an error lists."""


class SymmetricSpec(Replacing):
    """Keep a category with one probability, move to each other one with another.

    Exactly one of: `p`, the probability of replacing the category (Ma 2.1); `gamma`, the
    amplification allowed (FRAPP eq. 13); `epsilon`, its logarithm.
    """

    kind: Literal["symmetric"]

    def transition(self, variables: tuple[Variable, ...]) -> Transition:
        """Return the channel over the variables' product."""
        size = Domain(variables).size
        require_expressible(size)
        return self.symmetric(size)


class GammaDiagonalSpec(Amplified):
    """FRAPP's gamma-diagonal matrix over a whole record: a product of any size up to 2^62."""

    kind: Literal["gamma-diagonal"]

    def transition(self, variables: tuple[Variable, ...]) -> Transition:
        """Return the mixture over the variables' product (FRAPP eq. 13)."""
        return Mixture.from_gamma(Domain(variables).size, self.amplification)


class RandomGammaDiagonalSpec(ChannelSpec):
    """A gamma-diagonal matrix drawn anew for every record (RAN-GD, FRAPP 4).

    `share` is alpha as a share of the probability to keep the record.
    """

    kind: Literal["random-gamma-diagonal"]
    gamma: Number
    share: Number = 0.5

    def transition(self, variables: tuple[Variable, ...]) -> Transition:
        """Return the channel over the variables' product. Also raises OptionError."""
        size = Domain(variables).size
        require_expressible(size)
        return RandomSymmetric.around_gamma(size, self.gamma, self.share)


class BinarySpec(ChannelSpec):
    """Ma's binary randomization: `p1` first to second category, `p2` second to first."""

    kind: Literal["binary"]
    p1: Number
    p2: Number

    def transition(self, variables: tuple[Variable, ...]) -> Transition:
        """Return the channel over two categories."""
        require_size(2, variables)
        return Dense.binary(self.p1, self.p2)


class TernarySpec(ChannelSpec):
    """Ma's ternary randomization: `p1` to the next category, `p2` to the one after."""

    kind: Literal["ternary"]
    p1: Number
    p2: Number

    def transition(self, variables: tuple[Variable, ...]) -> Transition:
        """Return the channel over three categories."""
        require_size(3, variables)
        return Dense.ternary(self.p1, self.p2)


class MatrixSpec(ChannelSpec):
    """Any matrix: row l lists the probabilities of every report when category l is true."""

    kind: Literal["matrix"]
    rows: tuple[tuple[Number, ...], ...]

    def transition(self, variables: tuple[Variable, ...]) -> Transition:
        """Return the channel over the variables' product."""
        channel = Dense.from_probabilities(self.rows)
        require_size(channel.shape[0], variables)
        return channel


class InvariantSpec(ChannelSpec):
    """A symmetric channel made to leave a public prior as it is."""

    one_of: ClassVar[tuple[str, ...]] = ("p", "gamma")
    kind: Literal["invariant"]
    p: Number | None = None
    gamma: Number | None = None
    prior: tuple[Number, ...]

    def transition(self, variables: tuple[Variable, ...]) -> Transition:
        """Return the channel over the variables' product. Raises OptionError for the prior."""
        size = Domain(variables).size
        require_multipliable(size)
        if require_prior(self.prior, size).min() <= 0:
            raise OptionError(
                "The prior gives a category no probability, so that it would never be reported.",
                where="prior",
                remedy="Give every category a positive probability.",
            )
        base = SymmetricSpec(kind="symmetric", p=self.p, gamma=self.gamma)
        return Dense.invariant(base.symmetric(size), self.prior)


class GroupedSpec(Replacing):
    """Groups of categories; inside its group a category is replaced as by `symmetric`.

    In a joint block a category is a combination, written with a star: `"male*high"`.
    """

    kind: Literal["grouped"]
    groups: tuple[tuple[str, ...], ...]

    def transition(self, variables: tuple[Variable, ...]) -> Transition:
        """Return the channel over the variables.

        Raises:
            UnknownCategory: a group names a category that is not there.
            ChannelError: the groups overlap or leave a category out, or stars in categories make
                names ambiguous.
        """
        require_listable(Domain(variables).size)
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
                "The groups must hold each category exactly once and none may be empty; they"
                f" repeat {len(twice)} categories {twice[:_SHOWN]} and miss {len(missed)}"
                f" {missed[:_SHOWN]}.",
                where="groups",
                remedy="Put every category into one group.",
            )


class StructuralZerosSpec(Replacing):
    """A symmetric channel over the combinations that can occur; the `impossible` never appear."""

    kind: Literal["structural-zeros"]
    impossible: Annotated[tuple[str, ...], Field(min_length=1)]

    def transition(self, variables: tuple[Variable, ...]) -> Transition:
        """Return the channel over the variables.

        Raises:
            UnknownCategory: an impossible combination is not one of the variables'.
            ChannelError: one is named twice, fewer than two are left, or stars in categories make
                names ambiguous.
        """
        size = Domain(variables).size
        require_listable(size)
        codes = labels(variables)
        require_known(list(self.impossible), codes, "impossible combinations")
        impossible = tuple(sorted({codes[c] for c in self.impossible}))
        possible = size - len(impossible)
        if len(impossible) < len(self.impossible) or possible < 2:
            raise ChannelError(
                f"{len(self.impossible)} impossible combinations are named, {len(impossible)} of"
                f" them different, which leaves {possible} possible ones.",
                where="impossible",
                remedy="Name each impossible combination once, and leave two or more possible.",
            )
        return StructuralZeros(size, impossible, self.symmetric(possible))


class MaskSpec(ChannelSpec):
    """MASK on the items of one variable: each of its categories is a bit that may be flipped.

    Either `p`, the probability that a bit is reported as it is, or `gamma` (FRAPP 7).
    """

    one_of: ClassVar[tuple[str, ...]] = ("p", "gamma")
    kind: Literal["mask"]
    p: Number | None = None
    gamma: Number | None = None

    def transition(self, variables: tuple[Variable, ...]) -> Transition:
        """Return the channel of one variable."""
        if len(variables) > 1:
            raise ChannelError(
                f"MASK flips the items of one variable; the block has {len(variables)}.",
                remedy="Give each variable a mask of its own; amplifications multiply.",
            )
        if self.p is not None:
            return OneHot.from_probability(variables[0].size, self.p)
        return OneHot.from_gamma(variables[0].size, self.gamma or 0.0)


class CutAndPasteSpec(ChannelSpec):
    """The cut-and-paste operator: keep at most `keep` items of the record, insert others.

    Either `rho`, the probability of inserting an item, or `gamma`, for the smallest such rho.
    """

    one_of: ClassVar[tuple[str, ...]] = ("rho", "gamma")
    kind: Literal["cut-and-paste"]
    keep: Annotated[int, Field(ge=0)]
    rho: Number | None = None
    gamma: Number | None = None

    def transition(self, variables: tuple[Variable, ...]) -> Transition:
        """Return the channel of the variables. Raises OptionError where no rho reaches gamma."""
        domain = Domain(variables)
        require_countable(domain.size)
        if self.rho is not None:
            return CutAndPaste.from_probability(domain.shape, self.keep, self.rho)
        return CutAndPaste.from_gamma(domain.shape, self.keep, self.gamma or 0.0)


AnyChannel = Annotated[
    SymmetricSpec
    | GammaDiagonalSpec
    | RandomGammaDiagonalSpec
    | BinarySpec
    | TernarySpec
    | MatrixSpec
    | InvariantSpec
    | GroupedSpec
    | StructuralZerosSpec
    | MaskSpec
    | CutAndPasteSpec
    | SampledSpec,
    Field(discriminator="kind"),
]
