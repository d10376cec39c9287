"""The total disclosure by plans and reports, computed as in the owner's ledger."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

from owner_agent.release.populations import same_people
from pramana.frames.sentences import checked_options
from pramana.frames.tables import shown
from pramana.reporting.disclosure import NO_BOUND, BlockDraw
from pramana.reporting.reports import Reports
from pramana_core.errors import OptionError
from pramana_core.learn.common.options import InnerShare, require_limit
from pramana_core.plan import Plan
from pramana_core.privacy import (
    PRIOR,
    Amplification,
    BlockDisclosure,
    CoinDisclosure,
    StudyDisclosure,
    composed,
    total_loss,
)
from pramana_core.rounding import rounded_up
from pramana_core.study_plan import StudyPlan

if TYPE_CHECKING:
    import pandas as pd

    from pramana_core.wire.parts import Pseudonyms

Disclosable: TypeAlias = Any
"""`Reports`, a `Plan`, a `StudyPlan`, an object with `plan`, (name, one of these), or a list."""


@dataclass(frozen=True, repr=False)
class Account:
    """What several releases disclose about one person (see `pm.accountant`).

    Attributes:
        told: the disclosure of each reported block of variables.
        different_people: whether no record is at more than one owner.

    Examples:
        >>> import pramana as pm
        >>> account = pm.accountant(pm.plan(pm.Domain.of(sex=["f", "m"]), p=0.1))
        >>> account
        Account(1 draw; whole record: gamma 9, epsilon 2.198)
        >>> round(account.breach(0.05), 3)
        0.321
    """

    told: tuple[BlockDisclosure, ...]
    different_people: bool = False

    @cached_property
    def _sums(self) -> StudyDisclosure:
        return total_loss(self.told, different_people=self.different_people)

    @cached_property
    def amplification(self) -> Amplification:
        """The amplification of a whole record, over all owners and draws."""
        if self.told and not any(one.randomized for one in self.told):
            return NO_BOUND
        return self._sums.record.determined

    @property
    def gamma(self) -> float:
        """The amplification of the whole record: the largest change of any odds (Ma 3.1)."""
        return self.amplification.gamma

    @property
    def epsilon(self) -> float:
        """The natural logarithm of `gamma`: the sum of the epsilons of all different draws."""
        return self.amplification.epsilon

    @property
    def public(self) -> tuple[str, ...]:
        """The variables that some owner released without randomization; no epsilon bounds them."""
        return tuple(
            dict.fromkeys(t.variable for t in self._sums.columns if t.amplification is None)
        )

    def breach(self, prior: float = PRIOR) -> float:
        """Return the largest belief that a prior belief of `prior` can become (rho_2, Ma 3.1.2).

        Raises OptionError unless `prior` is above 0 and below 1.
        """
        require_limit(prior, InnerShare, "prior")
        return self.amplification.grown(prior)

    def to_frame(self, prior: float = PRIOR) -> pd.DataFrame:
        """Return the disclosure of each variable, one row each.

        Columns: `draws`, the count of different draws of the variable; `gamma` and `epsilon` of all
            these draws together, over all owners (infinite for a public variable); `posterior`, the
            largest belief to which these draws alone can raise a prior belief of `prior`.
        """
        import pandas as pd

        require_limit(prior, InnerShare, "prior")
        names = dict.fromkeys(name for one in self.told for name in one.variables)
        draws = {(t.owner, t.draw, t.variables) for t in self.told if t.randomized}
        rows = []
        for name in names:
            known = self._sums.variables.get(name, composed([]))
            amplification = NO_BOUND if name in self.public else known
            rows.append(
                {
                    "variable": name,
                    "draws": sum(name in variables for _, _, variables in draws),
                    "gamma": amplification.gamma,
                    "epsilon": amplification.epsilon,
                    "posterior": amplification.grown(prior),
                }
            )
        columns = ["variable", "draws", "gamma", "epsilon", "posterior"]
        return pd.DataFrame(rows, columns=columns).set_index("variable")

    def __repr__(self) -> str:
        draws = len({(t.owner, t.draw, t.variables) for t in self.told if t.randomized})
        amplification = self.amplification
        words = (
            f"{draws} {'draw' if draws == 1 else 'draws'}; whole record: gamma"
            f" {amplification.written_gamma}, epsilon {rounded_up(amplification.epsilon)}"
        )
        if self.public and math.isfinite(amplification.epsilon):
            words += f", and {', '.join(self.public)} unchanged"
        return f"Account({words})"


@checked_options
def accountant(*what: Disclosable, different_people: bool = False) -> Account:
    """Compute the total disclosure of one person by plans and reports, as in the owner's ledger.

    Epsilons of different draws add up over all owners; the same draws published again add nothing
    (Ma 7.1.3). Reports of `pm.randomize` contain the identity of their draws. Plans, and reports
    read from a frame, do not; they count as new draws each time. Under one study plan, a coin
    chooses one set of variables for a record, and all owners report that set, so only the set with
    the largest loss counts. If most pseudonyms of two releases differ, their draws count as
    different, because the same people may have other record ids.

    Args:
        what: `Reports`, plans, study plans, or (owner's name, one of them); or a list of these.
        different_people: whether no person is at more than one owner. The largest loss at one owner
            then counts instead of the sum.

    Returns:
        the account: `epsilon`, `gamma`, `breach(prior)`, and `to_frame()` by variable.

    Raises:
        OptionError: an argument is of another type, or no argument is given.

    Examples:
        >>> import pramana as pm
        >>> people = pm.example("berkeley")
        >>> plan = pm.plan(pm.domain(people, pm.observed_categories(people)), p=0.2)
        >>> keys = pm.Keys.for_experiments(1)
        >>> reports = pm.randomize(people, plan, keys, record_id="person")
        >>> pm.accountant(reports, reports)
        Account(3 draws; whole record: gamma 320, epsilon 5.769)
        >>> pm.accountant(plan, plan)
        Account(6 draws; whole record: gamma 1.024e+05, epsilon 11.54)
    """
    require_limit(different_people, bool, "different_people")
    disclosures: list[BlockDisclosure] = []
    seen: dict[str, list[_Population]] = {}
    for number, (owner, one) in enumerate(_listed(what), start=1):
        if isinstance(one, StudyPlan):
            for name, _ in one.owners:
                if one.reports(name):
                    drawn = BlockDraw(f"{owner}{name}", one.block(name), f"plan {number}")
                    disclosures += _blocks(drawn, drawn.draw)
        elif isinstance(one, Reports) and one.draws is not None:
            joined = len({drawn.owner for drawn in one.draws}) > 1
            for drawn in one.draws:
                name = drawn.owner if joined or not owner else owner
                disclosures += _blocks(
                    BlockDraw(name, drawn.block, drawn.draw),
                    f"{drawn.draw} {_population(seen, drawn, one.pseudonyms)}",
                )
        else:
            plan = one if isinstance(one, Plan) else one.plan
            for block in plan.blocks:
                disclosures += _blocks(
                    BlockDraw(owner, block, ""), f"plan {number}: {block.digest}"
                )
    return Account(tuple(disclosures), different_people)


def _listed(what: Sequence[Disclosable]) -> list[tuple[str, Plan | StudyPlan | Reports]]:
    found: list[tuple[str, Plan | StudyPlan | Reports]] = []
    for one in what:
        if isinstance(one, tuple) and len(one) == 2 and isinstance(one[0], str):
            found += [(one[0], inner) for _, inner in _listed([one[1]])]
        elif isinstance(one, list | tuple):
            found += _listed(one)
        elif isinstance(one, Plan | StudyPlan | Reports):
            found.append(("", one))
        elif isinstance(getattr(one, "study_plan", None), StudyPlan):
            found.append(("", one.study_plan))
        elif isinstance(getattr(one, "plan", None), Plan):
            found.append(("", one.plan))
        else:
            raise OptionError(
                "Arguments must be reports, plans, study plans, or pairs (owner's name, one of"
                f" these), not {shown(one)}.",
                where="what",
            )
    if not what:
        raise OptionError("Pass at least one plan or Reports.", where="what")
    return found


def _blocks(drawn: BlockDraw, identity: str) -> Iterable[BlockDisclosure]:
    channel = drawn.block.channel
    if channel.withheld:
        return
    randomized = not channel.is_identity
    yield BlockDisclosure(
        drawn.owner,
        drawn.block.names,
        Amplification.of(channel) if randomized else NO_BOUND,
        identity,
        randomized,
        CoinDisclosure.of(channel),
    )


@dataclass(frozen=True)
class _Population:
    name: str
    people: str
    keys: Pseudonyms


def _population(
    seen: dict[str, list[_Population]], drawn: BlockDraw, keys: Pseudonyms | None
) -> str:
    if keys is None:
        return ""
    before = seen.setdefault(drawn.draw, [])
    same = [one for one in before if one.people == drawn.people != ""]
    alike = same or [one for one in before if same_people(one.keys, keys)]
    name = alike[-1].name if alike else str(len(before))
    before.append(_Population(name, drawn.people, keys))
    return name
