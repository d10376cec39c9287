"""Reading reports in any form that users pass, and joining the columns of several owners."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Literal, TypeAlias, TypeGuard, overload

from miner_service.alignment.coins import require_one_coin
from miner_service.alignment.ranges import Rows, common_rows, record_counts, record_sets
from miner_service.store.columns import KeyText
from pramana.frames.sentences import checked_options, one_sentence
from pramana.frames.tables import Frame, shown
from pramana.reporting.disclosure import BlockDraw
from pramana.reporting.reports import Reports, require_reports
from pramana_core.errors import EmptyTable, OptionError, PlanError, RecordsDoNotAlign, TableError
from pramana_core.estimation.axes import joined
from pramana_core.learn.common.options import require_limit
from pramana_core.marginals.counts import ReportedCounts
from pramana_core.plan import Plan
from pramana_core.wire.base import KEY_BYTES

Source: TypeAlias = Reports | tuple[Frame, Plan]
"""Reports, or a frame of reports with its plan."""

Sources: TypeAlias = Source | Sequence[Source] | Frame
"""The first argument of `estimate` and `fit`: a source, a list of them, or a frame with a plan."""

WANTED = "Reports, a frame with its plan, or a list of these"


def sources_of(reports: Sources, plan: Plan | None) -> tuple[Reports, ...]:
    """Return the argument of `estimate` or `fit` as reports with their plans.

    Raises TableError, PlanError, EmptyTable, DomainError, RecordsDoNotAlign.
    """
    if _is_pair(reports):
        _require_no_plan(plan, "a pair of a frame and its plan")
        frame, own = reports
        return (_of_one(frame, own, "reports"),)
    if isinstance(reports, list | tuple) and not _is_records(reports):
        _require_no_plan(plan, "a list, each with a plan of its own")
        return _of_several(reports)
    return (_of_one(reports, plan, "reports"),)


def _is_pair(given: object) -> TypeGuard[tuple[Frame, Plan]]:
    return (
        isinstance(given, tuple)
        and len(given) == 2
        and isinstance(given[1], Plan)
        and not isinstance(given[0], Plan)
    )


def _is_records(given: Sequence[object]) -> bool:
    return len(given) > 0 and all(isinstance(row, Mapping) for row in given)


def _of_several(several: Sequence[object]) -> tuple[Reports, ...]:
    if not several:
        raise EmptyTable(
            "reports is an empty list; it must contain Reports or pairs (frame, plan).",
            where="reports",
        )
    found = []
    for place, one in enumerate(several):
        argument = f"reports[{place}]"
        if isinstance(one, Reports):
            found.append(one)
        elif isinstance(one, list | tuple) and len(one) == 2:
            found.append(_of_one(one[0], one[1], argument))
        else:
            raise TableError(
                f"{argument} must be Reports or a pair (frame, plan), not {shown(one)}.",
                where="reports",
            )
    joined([source.domain for source in found])
    for first, second in combinations(range(len(found)), 2):
        _require_other_people(found[first], found[second], f"reports[{first}]", f"[{second}]")
    return tuple(found)


def _require_other_people(first: Reports, second: Reports, *places: str) -> None:
    if first.pseudonyms is None or second.pseudonyms is None:
        return
    keys = [
        pseudonyms.view(f"S{KEY_BYTES}") for pseudonyms in (first.pseudonyms, second.pseudonyms)
    ]
    twice = record_counts(keys).get((True, True), 0)
    if not twice:
        return
    raise RecordsDoNotAlign(
        f"{places[0]} and {places[1]} have {twice:,} people in common, but the sources in a list"
        " must be about different people; join columns about the same people with pm.join, or"
        " remove these people from one source.",
        where="reports",
    )


def _of_one(reports: object, plan: object, argument: str) -> Reports:
    if isinstance(reports, Plan):
        raise TableError(
            f"{argument} must be {WANTED}, not a Plan, which comes second.", where="reports"
        )
    if plan is not None and not isinstance(plan, Plan):
        raise PlanError(f"plan must be a Plan, not {shown(plan)}.", where="plan")
    if isinstance(reports, Reports):
        if plan is not None and plan.digest != reports.plan.digest:
            raise PlanError(
                "plan differs from the plan of the reports; omit it: the reports include theirs.",
                where="plan",
            )
        return reports
    if reports is None or isinstance(reports, str | int | float) or callable(reports):
        raise TableError(f"{argument} must be {WANTED}, not {shown(reports)}.", where="reports")
    if plan is None:
        raise PlanError(
            f"{argument} is {shown(reports)} without a plan; pass the plan that randomized it, or,"
            " for a table that was not randomized, pm.Plan.unrandomized(domain).",
            where="plan",
        )
    return Reports.from_frame(reports, plan)


def _require_no_plan(plan: object, given: str) -> None:
    if plan is not None:
        raise OptionError(f"plan must be omitted, because reports is {given}.", where="plan")


How = Literal["identical", "common", "any"]


@overload
def join(*reports: Reports, how: Literal["identical", "common"] = "identical") -> Reports: ...


@overload
def join(*reports: Reports, how: Literal["any"]) -> list[Reports]: ...


@checked_options
def join(*reports: Reports, how: How = "identical") -> Reports | list[Reports]:
    """Join the columns of several owners record by record, for a vertical study.

    Records with equal pseudonyms belong to the same person, provided that the owners share the
    linkage secret, the study and the format of record ids. The joined reports have the plans of all
    owners; the disclosure of a record adds up over the owners. Parts of one study plan become one
    block again, since one coin chose the variables that each record reports (see `pm.accountant`).

    Args:
        reports: two or more `Reports`, each with different variables.
        how: `identical` requires that all owners report the same records; `common` uses only the
            records that all owners have; `any` uses all records and returns a list with one
            `Reports` for each set of owners with records in common, which `pm.estimate` combines.

    Returns:
        the joined reports; for `any` a list of them.

    Raises:
        RecordsDoNotAlign: the records do not meet `how`, or do not follow the study plan of their
            owners.
        PlanError: two owners report the same variable.
        TableError, OptionError: the arguments cannot be joined.

    Examples:
        >>> import pramana as pm
        >>> people = pm.example("berkeley")
        >>> domain = pm.domain(people, pm.observed_categories(people))
        >>> parts = [
        ...     pm.randomize(
        ...         people,
        ...         pm.plan(domain.project(names), p=0.2),
        ...         pm.Keys.for_experiments(seed, linkage_seed=0),
        ...         record_id="person",
        ...     )
        ...     for seed, names in ((1, ["department"]), (2, ["sex", "admitted"]))
        ... ]
        >>> pm.join(*parts)
        Reports(4,526 records of department, sex, admitted; whole record: gamma 320, epsilon 5.769)
    """
    require_limit(how, How, "how")
    if len(reports) < 2:
        raise OptionError(
            f"reports must come from two or more owners, not {len(reports)}.", where="reports"
        )
    keys = [
        _keys(require_reports(one, f"reports {i}"), i) for i, one in enumerate(reports, start=1)
    ]
    _require_one_study(reports)
    if how == "any":
        return [_side_by_side(reports, found.rows) for found in record_sets(keys)]
    _require_aligned(keys, how)
    _require_other_variables(reports)
    return _side_by_side(reports, common_rows(keys))


def _keys(reports: Reports, number: int) -> KeyText:
    if reports.pseudonyms is None:
        raise OptionError(
            f"reports {number} have no pseudonyms, which are needed to join records; pm.randomize"
            " creates pseudonyms, and to_frame(pseudonyms=True) has them as index.",
            where="reports",
        )
    return reports.pseudonyms.view(f"S{KEY_BYTES}")


def _require_one_study(reports: Sequence[Reports]) -> None:
    studies = {one.study for one in reports if one.study is not None}
    if len(studies) > 1:
        raise OptionError(
            f"reports must be for the same study, not for {', '.join(sorted(studies))}: pseudonyms"
            " differ from study to study.",
            where="reports",
        )


def _require_other_variables(reports: Sequence[Reports]) -> None:
    times = Counter(name for one in reports for name in one.domain.names)
    twice = sorted(name for name, n in times.items() if n > 1)
    if twice:
        raise PlanError(
            f"reports must have different variables, but {', '.join(map(repr, twice))} is in two"
            " of them; pass reports on different people to pm.estimate as a list.",
            where="reports",
        )


def _require_aligned(keys: Sequence[KeyText], how: How) -> None:
    counts = record_counts(keys)
    in_all, in_any = counts.get((True,) * len(keys), 0), sum(counts.values())
    if in_all == in_any or (how == "common" and in_all):
        return
    each = ", ".join(f"{len(own):,}" for own in keys)
    words = f"reports have {in_all:,} records in common, of {in_any:,} in any of them ({each} each)"
    if in_all:
        raise RecordsDoNotAlign(
            f"{words}; write how='common' for those in common, or how='any' for all.", where="how"
        )
    raise RecordsDoNotAlign(
        f"{words}; owners must share the linkage secret (pm.Keys.create(folder, linkage=path)), the"
        " study and the format of their record ids.",
        where="reports",
    )


def _side_by_side(reports: Sequence[Reports], chosen: Sequence[Rows | None]) -> Reports:
    present = [(one, rows) for one, rows in zip(reports, chosen, strict=True) if rows is not None]
    _require_other_variables([one for one, _ in present])
    whole = Plan.combine([one.plan for one, _ in present])
    codes = {name: c[rows] for one, rows in present for name, c in one.codes.items()}
    owners = [
        (f"reports {number}", block)
        for number, (one, _) in enumerate(present, start=1)
        for block in one.plan.blocks
    ]
    with one_sentence():
        require_one_coin(owners, ReportedCounts(codes, whole.reported_sizes))
    first, rows = present[0]
    known = first.pseudonyms
    drawn: list[BlockDraw] | None = []
    for one, _ in present:
        drawn = None if drawn is None or one.draws is None else [*drawn, *one.draws]
    return Reports(
        whole,
        {name: codes[name] for name in whole.domain.names},
        None if known is None else known[rows],
        None if drawn is None else tuple(drawn),
        next(iter({one.study for one, _ in present if one.study is not None}), None),
        joined=len(present) > 1 or first.joined,
    )
