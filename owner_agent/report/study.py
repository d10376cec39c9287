"""What the miner states about the whole study, before and after a release of this site."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from owner_agent.randomize.draws import draw_id
from owner_agent.release.composition import planned_draws
from owner_agent.release.history import brief_miner
from owner_agent.release.ledger import Ledger
from owner_agent.release.publish import draws_for_miner
from owner_agent.report.measures import ALARMING
from owner_agent.site.planning import PlannedSite
from owner_agent.site.site import Site
from owner_agent.state.environment import Environment
from owner_agent.state.keys import KeyStore
from pramana_core.errors import KeyFileError, PramanaError, Unauthenticated
from pramana_core.privacy import NOTHING, PRIOR, Amplification
from pramana_core.report.numbers import belief, bound, percent, plural
from pramana_core.report.report import Column, Fact, Section, Sentence, Table
from pramana_core.rounding import rounded_down
from pramana_core.wire.base import People, holding, meaning
from pramana_core.wire.channels import PlanMessage
from pramana_core.wire.privacy import (
    ExtremesMessage,
    PrivacyForecast,
    PrivacyQuestion,
    StudyPrivacy,
)

Change = tuple[Amplification | None, Amplification | None]
"""The loss before and after a release, or None for values released unchanged."""


@dataclass(frozen=True)
class StudyForecast:
    """A study's privacy loss before and after a release by `owner`, as stated by the miner.

    The release follows the study's plan or the owner's own plan.
    """

    owner: str
    forecast: PrivacyForecast

    @property
    def study(self) -> str:
        """The name of the study."""
        return self.forecast.after.study

    @property
    def owners(self) -> str:
        """The count of owners who will have reports in the study after the release, as text."""
        return plural(len(self.forecast.after.owners), "owner")

    @property
    def fact(self) -> Fact:
        """The belief to which all reports can raise one of 5 % if columns determine each other."""
        ends = (self.forecast.before.record, self.forecast.after.record)
        before, after = (_extremes(one)[1] for one in ends)
        caption = f"upper limit to which it can grow by all reports of the study ({self.owners})"
        figure = _change((before, after), lambda loss: belief(loss, PRIOR))
        return Fact(figure, caption, after.grown(PRIOR) >= ALARMING)

    def as_dict(self) -> dict[str, Any]:
        """Return the forecast as JSON values; an infinite number becomes null."""
        return {"owner": self.owner, **self.forecast.model_dump(mode="json")}

    def section(self) -> Section:
        """Return the section on the study: the losses by column, by this owner and by all."""
        grows = f"{percent(PRIOR)} grows\nat most to"
        columns = (
            Column(
                f"disclosure about a record of study {self.study}", lambda row: row["by"], False
            ),
            Column("epsilon", lambda row: _change(row["loss"], lambda a: bound(a.epsilon))),
            Column("gamma", lambda row: _change(row["loss"], lambda a: a.written_gamma)),
            Column(grows, lambda row: _change(row["loss"], lambda a: belief(a, PRIOR))),
        )
        rows = [{"by": by, "loss": loss} for by, loss in self._lines()]
        after, refused = self.forecast.after, self.forecast.refused
        sentences = [
            Sentence(after.people_said),
            *map(Sentence, self._budget()),
            *(Sentence(words, "warning") for words in after.warnings),
        ]
        if refused is not None:
            sentences.append(Sentence(f"The miner would reject this release. {refused}", "grave"))
        return Section(
            "Together with the whole study", sentences, Table(columns, rows), notes=[_NOTE]
        )

    def _lines(self) -> Iterator[tuple[str, Change]]:
        before, after = self.forecast.before, self.forecast.after
        mine = _columns(before, self.owner)
        for name, loss in _columns(after, self.owner).items():
            yield f"{name}, its own draws", (mine.get(name, NOTHING), loss)
        for who, then, now in (
            (self.owner, _own(before, self.owner), _own(after, self.owner)),
            (self.owners, before.record, after.record),
        ):
            ends = zip(_extremes(then), _extremes(now), strict=True)
            for extreme, change in zip(("independent", "determined"), ends, strict=True):
                yield f"{who}: columns {extreme}", change

    def _budget(self) -> Iterator[str]:
        now, then = self.forecast.before.budget, self.forecast.after.budget
        left, after = now.left_for_record or 0.0, then.left_for_record or 0.0
        fits = self.forecast.refused is None
        later = f", and {rounded_down(after)} after this release" if fits else ""
        if now.max_epsilon_record is not None:
            limit, rest = rounded_down(now.max_epsilon_record), ""
            if now.max_central_epsilon is None:
                rest = f": {rounded_down(left)} of it remains{later}"
            yield f"The study's budget for a record is epsilon {limit}{rest}."
        if now.max_central_epsilon is not None:
            limits = "the limit" if now.max_epsilon_record is None else "both limits"
            yield (
                f"The study limits the central epsilon to {rounded_down(now.max_central_epsilon)},"
                f" at delta {now.central_delta:g} among at least {now.central_records or 0:,}"
                f" records. Every plan of epsilon {rounded_down(left)} fits{later}, and any plan"
                f" that keeps {limits} together with all others."
            )
        if now.max_epsilon_column is not None:
            limit = rounded_down(now.max_epsilon_column)
            yield f"The study's budget for each column is epsilon {limit}."


_NOTE = (
    "Before → after this release, as the miner computes it from the plans of all releases of the"
    " study. Epsilons of different draws add over columns and owners if the values depend on each"
    " other. The strength of dependence is unknown, so the table shows two extremes. Columns"
    " independent: only a column's own draws change a belief about it; the figure is for the"
    " column with the largest loss. Columns determined: each column determines the others, and"
    " all draws add. The sum assumes that all owners have the same people."
)


def study_sections(study: StudyForecast | str | None) -> list[Section]:
    """Return the section on the study, or an empty list if the site has no study."""
    if study is None:
        return []
    if isinstance(study, StudyForecast):
        return [study.section()]
    words = (
        f"The joint loss of this release and the whole study is unknown: {study} A person's loss"
        " depends on the reports of all owners."
    )
    return [Section("Together with the whole study", [words])]


def study_json(study: StudyForecast | str | None) -> dict[str, Any]:
    """Return the forecast for the whole study as JSON values, or the reason why it is unknown."""
    return {
        "study": study.as_dict() if isinstance(study, StudyForecast) else None,
        "study_unknown": study if isinstance(study, str) else None,
    }


def outlook_of(
    site: Site, plan: PlannedSite, environment: Environment
) -> StudyForecast | str | None:
    """Return the miner's forecast for the study, or why it is unavailable. Sends no record.

    Return None if the site file names no miner.
    """
    if site.file.miner is None:
        return None
    study, draws = site.miner.study, _known_draws(site, plan)
    question = PrivacyQuestion(
        plan=PlanMessage.from_plan(plan.plan),
        draws=draws,
        linkage=KeyStore(site.state).linkage_fingerprint(study) if draws is not None else None,
    )
    try:
        with brief_miner(site, environment) as miner:
            return StudyForecast(site.owner, miner.forecast(study, question))
    except Unauthenticated:
        return f"this site has not joined the study {study!r} yet."
    except PramanaError as error:
        return error.message


def _known_draws(site: Site, plan: PlannedSite) -> list[str] | None:
    try:
        secrets = KeyStore(site.state).load()
    except KeyFileError:
        return None
    ledger, blocks = Ledger(site.state), plan.plan.blocks
    identities = {b.name: draw_id(secrets, site.miner.study, b, ledger.beginning) for b in blocks}
    newest = {d.draw_id: d.population for entry in ledger.entries() for d in entry.draws}
    draws = planned_draws(blocks, plan.columns, identities, lambda d: newest.get(d, "planned"))
    return draws_for_miner(plan.plan, draws)[0]


@dataclass(frozen=True)
class PeopleStatement:
    """What the miner states on whether a study's owners have the same people.

    If `refused`, the miner would reject a release because the linkage secret differs.
    """

    study: str
    people: People
    refused: PramanaError | None = None

    @property
    def sentence(self) -> str:
        """The statement as a sentence, with its consequence for a person's privacy loss."""
        statement = f"According to study {self.study}, its owners {holding(self.people)}"
        return f"{statement}: {meaning(self.people)}."


def people_of(site: Site, environment: Environment) -> PeopleStatement | str | None:
    """Return the miner's statement on people and linkage secrets, or why it is unavailable.

    Return None if the site file names no miner. Sends only a fingerprint.
    """
    if site.file.miner is None:
        return None
    study = site.miner.study
    try:
        with brief_miner(site, environment) as miner:
            statement = PeopleStatement(study, miner.study(study).people)
            linkage = KeyStore(site.state).linkage_fingerprint(study)
            if linkage is None:
                return statement
            return replace(statement, refused=miner.linkage(study, linkage).difference)
    except PramanaError as error:
        return error.message


def steps_after(site: Site, environment: Environment) -> list[str]:
    """Return sentences on the next steps in a site's study; empty if the miner does not answer."""
    try:
        with brief_miner(site, environment) as miner:
            study = miner.study(site.miner.study)
    except PramanaError:
        return []
    done = "Every owner has published. An analyst of the study can run jobs now."
    return [step.line for step in study.next] or [done]


def _extremes(extremes: ExtremesMessage | None) -> tuple[Amplification, Amplification]:
    if extremes is None:
        return NOTHING, NOTHING
    return extremes.independent.to_amplification(), extremes.determined.to_amplification()


def _own(moment: StudyPrivacy, owner: str) -> ExtremesMessage | None:
    return next((entry for entry in moment.owners if entry.owner == owner), None)


def _columns(moment: StudyPrivacy, owner: str) -> dict[str, Amplification | None]:
    return {
        c.variable: None if c.amplification is None else c.amplification.to_amplification()
        for c in moment.columns
        if c.owner == owner
    }


def _change(change: Change, write: Callable[[Amplification], str]) -> str:
    """Return a loss before and after a release as text, or only one value if both are equal."""
    before, after = ("no bound" if loss is None else write(loss) for loss in change)
    return after if before == after else f"{before} → {after}"
