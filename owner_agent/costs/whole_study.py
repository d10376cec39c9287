"""What the miner says that the whole study tells, before and after a release of this site.

One owner's figures bound what its own reports tell. What bounds a person is what all owners tell
together, and only the miner has all plans.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

from owner_agent.costs.losses import known_draws
from owner_agent.release.agreement import require_one_secret
from owner_agent.release.left import asked_briefly
from owner_agent.release.publish import told_draws
from owner_agent.site.planning import Planned
from owner_agent.site.site import Site
from owner_agent.state.keys import KeyStore
from owner_agent.state.surroundings import Surroundings
from pramana_core.errors import BudgetExceeded, LinkageDiffers, PramanaError, Unauthenticated
from pramana_core.privacy import NOTHING, Amplification
from pramana_core.wire.base import People, holding, meaning
from pramana_core.wire.plans import PlanMessage
from pramana_core.wire.privacy import (
    ExtremesMessage,
    PrivacyForecast,
    PrivacyQuestion,
    StudyPrivacy,
)


@dataclass(frozen=True)
class ToldChange:
    """What something is told by before a release and after it; None: it is told as it is."""

    what: str
    before: Amplification | None
    after: Amplification | None


@dataclass(frozen=True)
class Outlook:
    """The study before and after a release of `owner`, by a plan for all owners or its own."""

    owner: str
    forecast: PrivacyForecast

    @property
    def study(self) -> str:
        """The study's name."""
        return self.forecast.after.study

    @property
    def owners(self) -> int:
        """How many owners will have told something."""
        return len(self.forecast.after.owners)

    @property
    def record(self) -> tuple[ToldChange, ToldChange]:
        """What is told of a record over the study: columns independent, columns determined."""
        before, after = self.forecast.before.record, self.forecast.after.record
        return _both("the study", before, after)

    @property
    def own(self) -> tuple[ToldChange, ToldChange]:
        """What this owner alone tells of a record."""
        before, after = (self._own(moment) for moment in self._moments)
        return _both(self.owner, before, after)

    @property
    def columns(self) -> tuple[ToldChange, ...]:
        """What the draws of each of this owner's columns tell of it."""
        before, after = (self._columns(moment) for moment in self._moments)
        return tuple(
            ToldChange(name, before.get(name, NOTHING), now) for name, now in after.items()
        )

    def require_accepted(self) -> None:
        """Check that the miner would take the release. Raises BudgetExceeded."""
        if self.forecast.refused is not None:
            raise BudgetExceeded(
                self.forecast.refused,
                where=self.study,
            )

    def as_dict(self) -> dict[str, Any]:
        """Return JSON; an infinite number is null."""
        return {"owner": self.owner, **self.forecast.model_dump(mode="json")}

    @property
    def _moments(self) -> tuple[StudyPrivacy, StudyPrivacy]:
        return self.forecast.before, self.forecast.after

    def _own(self, moment: StudyPrivacy) -> ExtremesMessage | None:
        return next((told for told in moment.owners if told.owner == self.owner), None)

    def _columns(self, moment: StudyPrivacy) -> dict[str, Amplification | None]:
        mine = [column for column in moment.columns if column.owner == self.owner]
        return {
            c.variable: None if c.amplification is None else c.amplification.to_amplification()
            for c in mine
        }


@dataclass(frozen=True)
class Left:
    """What a study's budget leaves, in epsilons; None: no limit.

    `column` is the least that any of some columns has left.
    """

    study: str
    record: float | None
    column: float | None


def outlook_of(
    site: Site, plan: Planned, surroundings: Surroundings, renewed: Collection[str] = ()
) -> Outlook | str | None:
    """Ask the miner what publishing would add; or say why it could not be asked.

    None where the site has no miner. The plan, the identities of its draws and the fingerprint of
    the linkage secret are sent, nothing of the table.

    Args:
        site: the site.
        plan: its plan.
        surroundings: how the miner is reached.
        renewed: the blocks whose records would all be drawn anew.
    """
    if site.file.miner is None:
        return None
    draws = known_draws(site, plan, renewed)
    question = PrivacyQuestion(
        plan=PlanMessage.from_plan(plan.plan),
        draws=None if draws is None else told_draws(plan.plan, draws).draws,
        linkage=None
        if draws is None
        else KeyStore(site.state).linkage_fingerprint(site.miner.study),
    )
    try:
        with asked_briefly(site, surroundings) as miner:
            told = miner.forecast(site.miner.study, question)
    except Unauthenticated:
        return f"this site has not joined the study {site.miner.study!r} yet."
    except PramanaError as error:
        return error.message
    return Outlook(site.owner, told)


@dataclass(frozen=True)
class PeopleStatement:
    """What a study says of its people; `refused` is why the linkage secret here does not fit."""

    study: str
    people: People
    refused: PramanaError | None = None

    @property
    def sentence(self) -> str:
        """What it says, and what it means for a person's loss."""
        said = f"Study {self.study} says that its owners {holding(self.people)}"
        return f"{said}: {meaning(self.people)}."


def people_told(site: Site, surroundings: Surroundings) -> PeopleStatement | str | None:
    """Ask the miner what a study says of its people, and whether the secret fits the others'.

    None where there is no miner, and why not where it could not be asked. The fingerprint of the
    linkage secret is sent, and nothing else.
    """
    if site.file.miner is None:
        return None
    try:
        with asked_briefly(site, surroundings) as miner:
            told = PeopleStatement(site.miner.study, miner.study(site.miner.study).people)
            linkage = KeyStore(site.state).linkage_fingerprint(site.miner.study)
            try:
                require_one_secret(linkage, miner, site.miner.study)
            except LinkageDiffers as error:
                return replace(told, refused=error)
            return told
    except PramanaError as error:
        return error.message


def left_in_study(site: Site, variables: Sequence[str], surroundings: Surroundings) -> Left:
    """Ask the miner what the study's budget leaves for a record, and for these columns.

    Raises:
        Unauthenticated: the site has not joined the study.
        Refused, Unreachable: the miner said no, or nothing.
    """
    with asked_briefly(site, surroundings) as miner:
        told = miner.privacy(site.miner.study)
    limit = told.budget.max_epsilon_column
    left = told.budget.left_for_columns
    column = None if limit is None else min([limit, *(left.get(n, limit) for n in variables)])
    return Left(told.study, told.budget.left_for_record, column)


def _both(
    what: str, before: ExtremesMessage | None, after: ExtremesMessage | None
) -> tuple[ToldChange, ToldChange]:
    then, now = (_extremes(told) for told in (before, after))
    return ToldChange(what, then[0], now[0]), ToldChange(what, then[1], now[1])


def _extremes(told: ExtremesMessage | None) -> tuple[Amplification, Amplification]:
    if told is None:
        return NOTHING, NOTHING
    return told.independent.to_amplification(), told.determined.to_amplification()
