"""What the miner says that the whole study tells, before and after a release of this site.

One owner's figures bound what its own reports tell. What bounds a person is what all owners tell
together, and only the miner has all plans.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from rich.console import Console

from owner_agent.release.history import asked_briefly
from owner_agent.release.publish import draws_for_miner
from owner_agent.report.losses import known_draws, number
from owner_agent.report.thresholds import ALARMING
from owner_agent.site.planning import PlannedSite
from owner_agent.site.site import Site
from owner_agent.state.environment import Environment
from owner_agent.state.keys import KeyStore
from pramana_core.errors import BudgetExceeded, PramanaError, Unauthenticated
from pramana_core.privacy import NOTHING, PRIOR, Amplification
from pramana_core.wire.base import People, holding, meaning
from pramana_core.wire.channels import PlanMessage
from pramana_core.wire.privacy import (
    ExtremesMessage,
    PrivacyForecast,
    PrivacyQuestion,
    StudyPrivacy,
)


@dataclass(frozen=True)
class LossChange:
    """The loss before a release and after it; None: the values are released as they are."""

    what: str
    before: Amplification | None
    after: Amplification | None


@dataclass(frozen=True)
class StudyForecast:
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
    def record(self) -> tuple[LossChange, LossChange]:
        """What the study discloses of a record: columns independent, columns determined."""
        before, after = self.forecast.before.record, self.forecast.after.record
        return _both("the study", before, after)

    @property
    def own(self) -> tuple[LossChange, LossChange]:
        """What this owner alone tells of a record."""
        before, after = (self._own(moment) for moment in self._moments)
        return _both(self.owner, before, after)

    @property
    def columns(self) -> tuple[LossChange, ...]:
        """What the draws of each of this owner's columns tell of it."""
        before, after = (self._columns(moment) for moment in self._moments)
        return tuple(
            LossChange(name, before.get(name, NOTHING), now) for name, now in after.items()
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
        return next((entry for entry in moment.owners if entry.owner == self.owner), None)

    def _columns(self, moment: StudyPrivacy) -> dict[str, Amplification | None]:
        mine = [column for column in moment.columns if column.owner == self.owner]
        return {
            c.variable: None if c.amplification is None else c.amplification.to_amplification()
            for c in mine
        }


def outlook_of(
    site: Site, plan: PlannedSite, environment: Environment
) -> StudyForecast | str | None:
    """Ask the miner what publishing would add; or say why it could not be asked.

    None where the site has no miner. The plan, the identities of its draws and the fingerprint of
    the linkage secret are sent, nothing of the table.
    """
    if site.file.miner is None:
        return None
    draws = known_draws(site, plan)
    question = PrivacyQuestion(
        plan=PlanMessage.from_plan(plan.plan),
        draws=None if draws is None else draws_for_miner(plan.plan, draws).draws,
        linkage=None
        if draws is None
        else KeyStore(site.state).linkage_fingerprint(site.miner.study),
    )
    try:
        with asked_briefly(site, environment) as miner:
            forecast = miner.forecast(site.miner.study, question)
    except Unauthenticated:
        return f"this site has not joined the study {site.miner.study!r} yet."
    except PramanaError as error:
        return error.message
    return StudyForecast(site.owner, forecast)


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


def people_told(site: Site, environment: Environment) -> PeopleStatement | str | None:
    """Ask the miner what a study says of its people, and whether the secret fits the others'.

    None where there is no miner, and why not where it could not be asked. The fingerprint of the
    linkage secret is sent, and nothing else.
    """
    if site.file.miner is None:
        return None
    try:
        with asked_briefly(site, environment) as miner:
            statement = PeopleStatement(site.miner.study, miner.study(site.miner.study).people)
            linkage = KeyStore(site.state).linkage_fingerprint(site.miner.study)
            if linkage is None:
                return statement
            check = miner.linkage(site.miner.study, linkage)
            return replace(statement, refused=check.difference)
    except PramanaError as error:
        return error.message


def _both(
    what: str, before: ExtremesMessage | None, after: ExtremesMessage | None
) -> tuple[LossChange, LossChange]:
    then, now = (_extremes(part) for part in (before, after))
    return LossChange(what, then[0], now[0]), LossChange(what, then[1], now[1])


def _extremes(extremes: ExtremesMessage | None) -> tuple[Amplification, Amplification]:
    if extremes is None:
        return NOTHING, NOTHING
    return extremes.independent.to_amplification(), extremes.determined.to_amplification()


def show_study(console: Console, forecast: StudyForecast | str | None) -> None:
    """Print what the study tells of a record, and what its budget leaves; or why nobody knows."""
    if isinstance(forecast, str):
        said = f"What this release comes to with the whole study is not known: {forecast}"
        console.print(said, style="yellow", markup=False)
    if not isinstance(forecast, StudyForecast):
        return
    independent, determined = forecast.record
    console.print(forecast.forecast.after.people_said, markup=False)
    console.print(
        f"With this release, all that study {forecast.study} tells ({owners(forecast)}) can turn a"
        f" belief of {PRIOR:.0%} about a record into {_told(determined)} if each column determines"
        f" the others, and into {_told(independent)} if columns tell nothing of each other.",
        markup=False,
    )
    for line in budget(forecast):
        console.print(line, markup=False)
    for said in forecast.forecast.after.warnings:
        console.print(said, style="yellow", markup=False)
    if forecast.forecast.refused is not None:
        said = f"The miner would refuse this release. {forecast.forecast.refused}"
        console.print(said, style="bold red", markup=False)


def show_people(console: Console, people: PeopleStatement | str | None) -> None:
    """Print what a study says of its people before something leaves, or why that is not known."""
    if isinstance(people, PeopleStatement):
        console.print(people.sentence, markup=False, soft_wrap=True)
    elif people is not None:
        said = f"What the study says of its owners' people is not known: {people}"
        console.print(said, style="yellow", markup=False, soft_wrap=True)


def lines(forecast: StudyForecast) -> Iterator[tuple[str, LossChange]]:
    """Yield in words what is disclosed by columns, by this owner and by all owners."""
    for change in forecast.columns:
        yield f"{change.what}, its own draws", change
    everybody = owners(forecast)
    for who, (independent, determined) in (
        (forecast.owner, forecast.own),
        (everybody, forecast.record),
    ):
        yield f"{who}: columns independent", independent
        yield f"{who}: columns determined", determined


def cells(change: LossChange) -> tuple[str, str, str]:
    """Return epsilon, gamma and what a belief grows to, each before and after where they differ."""
    if change.after is None:
        return "told as it is", "", ""
    return (
        _change(change, number_of),
        _change(change, lambda loss: loss.written_gamma),
        _change(change, grown),
    )


def budget(forecast: StudyForecast) -> Iterator[str]:
    """Yield what the study's budget is and what it leaves; nothing without a budget."""
    now, then = forecast.forecast.before.budget, forecast.forecast.after.budget
    if now.max_epsilon_record is not None and then.left_for_record is not None:
        fits = forecast.forecast.refused is None
        later = f", and {number(then.left_for_record)} after this release" if fits else ""
        yield (
            f"The study's budget for a record is epsilon {number(now.max_epsilon_record)}:"
            f" {number(now.left_for_record or 0.0)} of it is left{later}."
        )
    if now.max_epsilon_column is not None:
        yield f"Its budget for each column is epsilon {number(now.max_epsilon_column)}."


def alarming(forecast: StudyForecast) -> bool:
    """Whether a belief can come next to a proof by all that the study tells."""
    after = forecast.record[1].after
    return after is not None and after.grown(PRIOR) >= ALARMING


def number_of(amplification: Amplification) -> str:
    """Write an epsilon."""
    return number(amplification.epsilon)


def grown(amplification: Amplification) -> str:
    """Write what a belief of `PRIOR` grows to; nothing short of a proof is 100 %."""
    posterior = amplification.grown(PRIOR)
    if posterior > 0.9995:
        return f"{posterior:.0%}" if posterior == 1 else f"{min(posterior, 0.9999):.2%}"
    return f"{posterior:.1%}"


def _change(change: LossChange, write: Callable[[Amplification], str]) -> str:
    before, after = (
        "as it is" if loss is None else write(loss) for loss in (change.before, change.after)
    )
    return after if before == after else f"{before} → {after}"


def _told(change: LossChange) -> str:
    """Say what a belief grows to, by how much epsilon, and how it was before."""
    now, before = change.after or NOTHING, change.before or NOTHING
    earlier = "" if now == before else f"; before: {grown(before)}, {number_of(before)}"
    return f"{grown(now)} (epsilon {number_of(now)}{earlier})"


def owners(forecast: StudyForecast) -> str:
    """Say how many owners have told something."""
    return "1 owner" if forecast.owners == 1 else f"{forecast.owners} owners"


def study_json(study: StudyForecast | str | None) -> dict[str, Any]:
    """Return what the miner says of the whole study, or why it says nothing."""
    return {
        "study": study.as_dict() if isinstance(study, StudyForecast) else None,
        "study_unknown": study if isinstance(study, str) else None,
    }
