"""The loss of a record by all releases of a study, and the remaining budget.

A release counts from its first part. The budget also reserves the loss of announced releases, so
two owners cannot both use the remainder. The sums exclude releases that no gamma bounds.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from sqlalchemy.orm import Session

from miner_service.intake.agreement import SLACK, require_within
from miner_service.intake.central import Arrived, Counted, budgeted_epsilon, central_of
from miner_service.intake.declared_people import PeopleDeclaration, declared
from miner_service.intake.unbounded import (
    BlockCost,
    Unbounded,
    bound_of,
    changed_reports,
    costs,
    costs_of,
    draws_of,
    require_no_budget,
    unbounded_of,
    warnings_of,
    warnings_of_changes,
)
from miner_service.services import Services
from miner_service.store import people
from miner_service.store.people import find_study_plan
from miner_service.store.releases import (
    active_owners,
    announced_releases,
    kind_of_release,
    removed_owners,
)
from miner_service.store.report_rows import report_plan_of
from miner_service.store.schema import ReleaseRow, ReportPlanRow, StudyRow
from pramana_core.alike import first_few
from pramana_core.errors import BudgetExceeded, PramanaError
from pramana_core.plan import Plan
from pramana_core.privacy import (
    NOTHING,
    PRIOR,
    Amplification,
    BlockDisclosure,
    StudyDisclosure,
    total_loss,
)
from pramana_core.rounding import rounded_down, rounded_up
from pramana_core.study_plan import StudyPlan
from pramana_core.wire.privacy import (
    AmplificationMessage,
    CentralMessage,
    ChangedReports,
    ColumnPrivacy,
    ExtremesMessage,
    OwnerPrivacy,
    PlannedLoss,
    PrivacyBudget,
    PrivacyForecast,
    StudyPrivacy,
)


@dataclass(frozen=True)
class AnnouncedReleases:
    """The losses by a study's releases: those that have arrived (`left`) or are announced
    (`to_come`). `counted` lists all these releases, and planned ones.
    """

    left: tuple[BlockDisclosure, ...]
    to_come: tuple[BlockDisclosure, ...]
    unbounded: tuple[Unbounded, ...] = ()
    changed: tuple[ChangedReports, ...] = ()
    disjoint: bool = False
    removed: tuple[str, ...] = ()
    arrived: Arrived = ()
    single: bool = False
    counted: Counted = ()

    def with_other(
        self, disclosures: Sequence[BlockDisclosure], source: ReleaseRow | Plan | None
    ) -> AnnouncedReleases:
        """Return a copy with the losses of another arrived release, or of single records (None)."""
        counted = self.counted if source is None else (*self.counted, (source, disclosures))
        return replace(self, left=(*self.left, *disclosures), counted=counted)

    def seen_by(self, owner: str | None) -> AnnouncedReleases:
        """Return what the owner may see, or everything if `owner` is None."""
        mine = tuple(one for one in self.changed if owner in (None, one.owner))
        return replace(self, changed=mine)

    @property
    def owed(self) -> StudyDisclosure:
        """The loss that the budget must cover, whichever records match.

        If this loss depended on matching records, a rejection would reveal another owner's people.
        """
        all_of_them = (*self.left, *self.to_come)
        return total_loss(all_of_them, different_people=self.disjoint, removed=self.removed)

    def of_people(self, owner: str) -> AnnouncedReleases:
        """Return what counts for an owner's people, if the owners have different people."""
        if not self.disjoint:
            return self
        names = {owner, *self.removed}
        left, to_come = (tuple(t for t in e if t.owner in names) for e in (self.left, self.to_come))
        counted = [(row, e) for row, e in self.counted if any(t.owner in names for t in e)]
        return replace(self, left=left, to_come=to_come, counted=counted, disjoint=False)


def announced(session: Session, study: str, but: str | None = None) -> AnnouncedReleases:
    """Return the losses by a study's arrived and announced releases, without the release `but`."""
    active = set(active_owners(session, study))
    left, to_come, unbounded = list[BlockDisclosure](), list[BlockDisclosure](), list[Unbounded]()
    there, awaited = (list[tuple[ReleaseRow, list[BlockDisclosure]]]() for _ in range(2))
    for row, arrived in announced_releases(session, study):
        if row.id == but:
            continue
        if arrived:
            there.append((row, losses_of(row)))
            left += there[-1][1]
            unbounded += [one for one in [unbounded_of(row)] if one is not None]
        elif row.state == "open" and row.owner in active:
            awaited.append((row, losses_of(row)))
            to_come += awaited[-1][1]
    single = False
    for plan, disclosures in _single_record_losses(session, study):
        single = plan.records > 0
        (left if single else to_come).extend(disclosures)
    changed = changed_reports(row for row, _ in there)
    disjoint = people.find_study(session, study).people == "different"
    return AnnouncedReleases(
        tuple(left),
        tuple(to_come),
        tuple(unbounded),
        tuple(changed),
        disjoint,
        tuple(removed_owners(session, study)),
        there,
        single,
        (*there, *awaited),
    )


def losses_of(row: ReleaseRow) -> list[BlockDisclosure]:
    """Return the loss of each block of a release, or of its public columns if it has no bound."""
    bound = bound_of(row)
    if bound.epsilon is not None:
        names = tuple(bound.columns)
        # Two owners may release the same small tree, each from its own records.
        draw = f"{row.owner} {row.content_digest}"
        return [BlockDisclosure(row.owner, names, Amplification(bound.epsilon), draw)]
    if (found := unbounded_of(row)) is not None:
        return [
            BlockDisclosure(row.owner, (name,), Amplification(math.inf), row.id, randomized=False)
            for name in found.message.told
        ]
    return _losses(row.owner, costs_of(row), draws_of(row), anew=row.id)


def _single_record_losses(
    session: Session, study: str
) -> Iterator[tuple[ReportPlanRow, list[BlockDisclosure]]]:
    row = session.get(ReportPlanRow, study)
    if row is not None and (row.records or row.state == "open"):
        yield row, _losses_of_reports(row)


def _losses_of_reports(row: ReportPlanRow) -> list[BlockDisclosure]:
    plan = report_plan_of(row)
    return _losses(row.owner, costs(plan), draws_of_reports(row.study, plan), anew=row.study)


def draws_of_reports(study: str, plan: Plan) -> list[str]:
    """Return, by block, the id of the draws that single records use for their permanent reports."""
    return [
        hashlib.sha256(f"pramana/reports/1\0{study}\0{block.digest}".encode()).hexdigest()
        for block in plan.blocks
    ]


def losses_of_plan(owner: str, plan: Plan, draws: Sequence[str] | None) -> list[BlockDisclosure]:
    """Return the losses by a planned release; without `draws`, all its draws count as new."""
    return _losses(owner, costs(plan), draws, anew="asked")


def study_privacy(
    services: Services, session: Session, study: str, *, shown_to_owner: str | None
) -> StudyPrivacy:
    """Return the loss by all releases of a study, as an owner or as other readers see it.

    An owner's view depends on the study's declaration about people, never on matching pseudonyms.
    """
    row = people.find_study(session, study)
    plan = find_study_plan(session, study)
    facts = declared(services, session, row, shown_to_owner=shown_to_owner is not None)
    found = announced(session, study)
    central = _central(services, row, found, shown_to_owner)
    return _message(row, found.seen_by(shown_to_owner), plan, facts, central)


def forecast(
    services: Services,
    session: Session,
    study: str,
    planned: Plan,
    disclosures: Sequence[BlockDisclosure],
    refused: PramanaError | None = None,
    *,
    shown_to_owner: str | None,
) -> PrivacyForecast:
    """Return a study's sums before and after a planned release, and any reason to reject it."""
    row = people.find_study(session, study)
    found = announced(session, study)
    central, found = _central(services, row, found, shown_to_owner), found.seen_by(shown_to_owner)
    plan = find_study_plan(session, study)
    facts = declared(services, session, row, shown_to_owner=shown_to_owner is not None)
    try:
        _require_fits(row, disclosures, found, planned)
    except BudgetExceeded as error:
        refused = refused or error
    return PrivacyForecast(
        before=_message(row, found, plan, facts, central),
        after=_message(row, found.with_other(disclosures, planned), plan, facts),
        refused=None if refused is None else str(refused),
    )


def require_within_budget(session: Session, new: ReleaseRow | ReportPlanRow) -> None:
    """Check that an uncommitted release or plan for single records fits the study's budget.

    Raises BudgetExceeded.
    """
    study = people.find_study(session, new.study)
    if study.record_limit is None and study.max_epsilon_column is None:
        return
    if isinstance(new, ReportPlanRow):
        found, disclosures = announced(session, new.study), _losses_of_reports(new)
    else:
        found, disclosures = announced(session, new.study, but=new.id), losses_of(new)
    still = tuple(t for t in found.to_come if t not in disclosures)
    _require_fits(study, disclosures, replace(found, to_come=still), new)


def require_budget_covers(session: Session, study: StudyRow) -> None:
    """Check that a study's budget covers its study plan and everything that was released.

    Plans for single records count from their publication. Other releases count from their first
    part, because a release that is only announced is checked again before that part is accepted.
    Raises BudgetExceeded, with the id of the first release that exceeds the budget.
    """
    if study.record_limit is None and study.max_epsilon_column is None:
        return
    plan = find_study_plan(session, study.name)
    if plan is not None:
        require_within(study, plan)
    found = announced(session, study.name)
    earlier = replace(found, left=(), to_come=(), counted=())
    sent: list[tuple[ReleaseRow | ReportPlanRow, Sequence[BlockDisclosure]]] = [*found.arrived]
    for one, disclosures in (*sent, *_single_record_losses(session, study.name)):
        try:
            _require_fits(study, disclosures, earlier, one)
        except BudgetExceeded as error:
            what, where = "The plan for single records", one.owner
            if isinstance(one, ReleaseRow):
                what, where = f"Release {one.name}", one.id
            larger = "a larger budget, or none"
            if error.remedy == _ALIKE:
                few = isinstance(one, ReleaseRow) and error.where == "records"
                fewer = "fewer --records, or " if few else ""
                larger = f"{fewer}a budget for a record instead of a central one"
            raise BudgetExceeded(
                f"{what} of owner {one.owner} exceeds the budget of study {study.name}."
                f" {error.message}",
                where=where,
                remedy=f"A release cannot be undone. Set {larger} (`miner-service study budget`).",
            ) from None
        earlier = earlier.with_other(disclosures, one if isinstance(one, ReleaseRow) else None)


def _require_fits(
    study: StudyRow,
    disclosures: Sequence[BlockDisclosure],
    others: AnnouncedReleases,
    source: ReleaseRow | ReportPlanRow | Plan,
) -> None:
    """Check the disclosures of a release, a plan for single records, or a planned release.

    Raises BudgetExceeded.
    """
    if isinstance(source, ReleaseRow):
        require_no_budget(study, source)
    if study.central_records is not None:
        _require_central(study.central_records, disclosures, source)
    everything = others.with_other(
        disclosures, None if isinstance(source, ReportPlanRow) else source
    )
    _require_no_excess(study, others, everything)


def _require_no_excess(
    study: StudyRow, before: AnnouncedReleases, after: AnnouncedReleases
) -> None:
    """Check that no group of people exceeds the budget and loses more. Raises BudgetExceeded."""
    owners = {t.owner for t in (*after.left, *after.to_come)} if after.disjoint else set[str]()
    for owner in sorted(owners - {*after.removed}) or [""]:
        now, then = before.of_people(owner), after.of_people(owner)
        _require_local_epsilon(study, now.owed, then.owed)
        _require_central_epsilon(study, now, then)


def _require_central(
    most: int, disclosures: Sequence[BlockDisclosure], source: ReleaseRow | ReportPlanRow | Plan
) -> None:
    """Check a central budget that requires `most` records. Raises BudgetExceeded.

    The budget needs releases with enough records and without public columns. It does not check that
    all releases have the same records, because a rejection would reveal which records match.
    """
    if isinstance(source, ReportPlanRow):
        raise _central_excess("reports of single records have a local bound only", "records")
    if isinstance(source, ReleaseRow) and not kind_of_release(source).has_records:
        raise _central_excess("a release without records does not hide in others", "kind")
    if isinstance(source, ReleaseRow) and source.records < most:
        raise _central_excess(
            f"each release needs {most:,} records, and this one has {source.records:,}", "records"
        )
    public = [name for one in disclosures if not one.randomized for name in one.variables]
    if public:
        raise _central_excess(
            f"public columns such as {public[0]!r} distinguish records", public[0]
        )


def _require_central_epsilon(
    study: StudyRow, before: AnnouncedReleases, after: AnnouncedReleases
) -> None:
    """Check the bound of all releases' own channels, if the worst channels exceed the budget."""
    if study.central_limit is None or study.max_central_epsilon is None:
        return
    if after.owed.record.determined.epsilon <= study.central_limit * SLACK:
        return
    now, then = (budgeted_epsilon(study, one.counted) for one in (before, after))
    if then > study.max_central_epsilon * SLACK and then > now:
        raise BudgetExceeded(
            f"This release raises the central epsilon of a record in this study from"
            f" {rounded_up(now)} to {rounded_up(then)}, at delta {study.central_delta:g} among"
            f" {study.central_records:,} records. The budget is"
            f" {rounded_down(study.max_central_epsilon)}.",
            where="record",
            remedy="Randomize more strongly: `owner-agent design --central-epsilon` finds a plan"
            " that fits alone. Separate plans add up; a study plan of several owners counts once.",
        )


def _central_excess(why: str, where: str) -> BudgetExceeded:
    return BudgetExceeded(
        f"The study's central budget covers no such release: {why}.", where=where, remedy=_ALIKE
    )


_ALIKE = "Release randomized columns of all records, or agree on a budget for a record."


def _losses(
    owner: str, costs: Sequence[BlockCost], draws: Sequence[str] | None, *, anew: str
) -> list[BlockDisclosure]:
    # The block's digest is part of the id: whatever the owner states, a new channel draws anew.
    return [
        BlockDisclosure(
            owner,
            block.names,
            block.amplification,
            f"{block.digest} {anew if draws is None else draws[number]}",
            randomized=block.randomized,
            coin=block.coin,
        )
        for number, block in enumerate(costs)
    ]


def _require_local_epsilon(
    study: StudyRow, before: StudyDisclosure, after: StudyDisclosure
) -> None:
    of_record = study.max_epsilon_record, before.record.determined, after.record.determined
    checked = [("a record", "record", *of_record)]
    checked += [
        (
            f"column {name!r}",
            name,
            study.max_epsilon_column,
            before.variables.get(name, NOTHING),
            loss,
        )
        for name, loss in after.variables.items()
    ]
    for what, where, limit, now, then in checked:
        if limit is not None and then.epsilon > limit * SLACK and then > now:
            raise BudgetExceeded(
                f"This release raises the disclosure about {what} in this study from epsilon"
                f" {rounded_up(now.epsilon)} to {rounded_up(then.epsilon)}. The budget is"
                f" {rounded_down(limit)}; without this release,"
                f" {rounded_down(max(limit - now.epsilon, 0.0))} of it is left.",
                where=where,
                remedy="Randomize more strongly, or publish fewer columns: `owner-agent design"
                " --epsilon` finds a plan for the rest. Give a private tree a smaller epsilon.",
            )


def _central(
    services: Services, study: StudyRow, found: AnnouncedReleases, shown_to: str | None
) -> CentralMessage:
    """Return the central bound. An owner may not see a bound that depends on shared records."""
    if shown_to is not None and any(row.owner != shown_to for row, _ in found.arrived):
        return CentralMessage(
            unstated="it depends on the records that owners share, which an owner may not learn."
        )
    return _SINGLE if found.single else central_of(services, study, found.arrived)


_SINGLE = CentralMessage(unstated="reports of single records have only a local bound.")


def central_of_releases(
    services: Services, session: Session, study: str, rows: Sequence[ReleaseRow]
) -> CentralMessage:
    """Return the central bound for results from these releases, perhaps not all of the study's."""
    found, used = announced(session, study), {row.id for row in rows}
    if found.single:
        return _SINGLE
    records = (one for one in found.arrived if kind_of_release(one[0]).has_records)
    others = [losses for row, losses in records if row.id not in used]
    arrived = [(row, losses_of(row)) for row in rows]
    return central_of(services, people.find_study(session, study), arrived, others)


def _message(
    study: StudyRow,
    found: AnnouncedReleases,
    plan: StudyPlan | None,
    facts: PeopleDeclaration,
    central: CentralMessage | None = None,
) -> StudyPrivacy:
    together = total_loss(found.left)
    disclosure = together
    if facts.disjoint:
        disclosure = total_loss(found.left, different_people=True, removed=found.removed)
    owed = found.owed
    limit = study.max_epsilon_column
    return StudyPrivacy(
        study=study.name,
        prior=PRIOR,
        columns=[
            ColumnPrivacy(
                owner=column.owner,
                variable=column.variable,
                amplification=None
                if column.amplification is None
                else AmplificationMessage.of(column.amplification),
                left=None
                if column.amplification is None
                else _left(limit, owed.variables[column.variable]),
            )
            for column in disclosure.columns
        ],
        owners=[
            OwnerPrivacy(
                owner=owner,
                independent=AmplificationMessage.of(extremes.independent),
                determined=AmplificationMessage.of(extremes.determined),
            )
            for owner, extremes in disclosure.owners.items()
        ],
        record=ExtremesMessage.of(disclosure.record),
        central=central,
        different_people=facts.disjoint,
        people=facts.people,
        at_several=ExtremesMessage.of(together.record) if facts.disjoint else None,
        budget=PrivacyBudget(
            max_epsilon_record=study.max_epsilon_record,
            max_epsilon_column=limit,
            max_central_epsilon=study.max_central_epsilon,
            central_delta=study.central_delta,
            central_records=study.central_records,
            left_for_record=_left(study.record_limit, owed.record.determined),
            left_for_columns={
                name: left
                for name, disclosure in owed.variables.items()
                if (left := _left(limit, disclosure)) is not None
            },
        ),
        study_plan=None
        if plan is None
        else PlannedLoss(digest=plan.digest, record=AmplificationMessage.of(plan.amplification)),
        unbounded=[one.message for one in found.unbounded],
        changed=list(found.changed),
        warnings=[
            *facts.warnings,
            *(_warnings_of_removed(study, found) if facts.disjoint else []),
            *warnings_of_changes(found.changed),
            *_warnings(disclosure, plan, facts),
            *_warnings_of_central(study, central),
            *warnings_of(found.unbounded, _randomized_columns(found)),
        ],
    )


def _randomized_columns(found: AnnouncedReleases) -> list[tuple[str, str]]:
    return [
        (block.owner, name)
        for block in found.left
        if block.randomized and block.amplification > NOTHING
        for name in block.variables
    ]


def _warnings(
    disclosure: StudyDisclosure, plan: StudyPlan | None, declared: PeopleDeclaration
) -> list[str]:
    """Return warnings if a record lost more than at one owner alone or than the plan allows."""
    record = disclosure.record.determined
    each = {owner: extremes.determined for owner, extremes in disclosure.owners.items()}
    most = max(each.values(), default=NOTHING)
    if plan is not None and record.epsilon > plan.amplification.epsilon * SLACK:
        sentence = (
            f"Releases disclosed epsilon {rounded_up(record.epsilon)} about a record, more than the"
            f" study plan's {rounded_up(plan.amplification.epsilon)}: reports were drawn again."
        )
        return [sentence]
    if plan is not None or declared.disjoint or record.epsilon <= most.epsilon * SLACK:
        return []
    owners = ", ".join(f"{owner} {rounded_up(one.epsilon)}" for owner, one in each.items())
    sentence = (
        f"All owners together disclose epsilon {rounded_up(record.epsilon)} (gamma"
        f" {record.written_gamma}) about a record that they all have: the losses of the owners"
        f" add ({owners})."
    )
    advice = (
        " A study plan, agreed on before the first release, bounds the sum: `owner-agent design"
        " --write-study-plan FILE` designs one."
    )
    return [sentence + (advice if declared.people != "different" else "")]


def _warnings_of_central(study: StudyRow, central: CentralMessage | None) -> list[str]:
    """Return a warning if the central bound exceeds the study's central budget."""
    limit, found = study.max_central_epsilon, None if central is None else central.epsilon
    if limit is None or found is None or found <= limit * (1 + 1e-6):
        return []
    sentence = (
        f"The central epsilon {rounded_up(found)} exceeds the study's budget of {limit:.4g}, which"
        " holds if all releases have the same records. Release the same records, or agree on a"
        " smaller budget for a record."
    )
    return [sentence]


def _warnings_of_removed(study: StudyRow, found: AnnouncedReleases) -> list[str]:
    """Return a warning on releases of removed owners in a study whose owners' people differ."""
    gone = [name for name in found.removed if any(one.owner == name for one in found.left)]
    if not gone:
        return []
    sentence = (
        f"Releases of the removed owners {first_few(gone)} count for the people of all other"
        " owners, because a removed owner may have joined again under another name."
    )
    try:
        _require_no_excess(study, replace(found, left=(), to_come=(), counted=()), found)
    except BudgetExceeded:
        sentence += " With them, the loss of some people exceeds the study's budget."
    return [sentence]


def _left(limit: float | None, loss: Amplification) -> float | None:
    return None if limit is None else max(limit - loss.epsilon, 0.0)
