"""Disclosures that no epsilon bounds: releases without a gamma, and reports that changed.

A report changed if two releases report a record differently by the same draw.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from miner_service.store.releases import cached_by_content, content_of, kind_of_release, repeated_of
from miner_service.store.schema import ReleaseRow, StudyRow
from pramana_core.alike import first_few
from pramana_core.errors import BudgetExceeded, LimitExceeded
from pramana_core.plan import Block, Plan
from pramana_core.privacy import Amplification, CoinDisclosure
from pramana_core.wire.privacy import ChangedReports, UnboundedRelease


@dataclass(frozen=True)
class Unbounded:
    """A release that no epsilon bounds, and the digest of its content."""

    digest: str
    message: UnboundedRelease


@dataclass(frozen=True)
class Bound:
    """A release's columns, and the bound on the whole release or the reason why it has none."""

    columns: Mapping[str, bool]
    epsilon: float | None
    statement: str | None


@cached_by_content
def bound_of(row: ReleaseRow) -> Bound:
    """Return the bound on a whole release."""
    kind, content = kind_of_release(row), content_of(row)
    return Bound(kind.columns(content), kind.epsilon(content), kind.unbounded(content))


def unbounded_of(row: ReleaseRow) -> Unbounded | None:
    """Return a release's columns and why no epsilon bounds it; None if it has a bound."""
    bound = bound_of(row)
    if bound.statement is None:
        return None
    message = UnboundedRelease(
        owner=row.owner,
        kind=kind_of_release(row).name,
        confidential=[name for name, public in bound.columns.items() if not public],
        told=[name for name, public in bound.columns.items() if public],
        statement=bound.statement,
    )
    return Unbounded(row.digest, message)


def require_no_budget(study: StudyRow, row: ReleaseRow) -> None:
    """Check that a release is bounded or the study has no budget. Raises BudgetExceeded."""
    found = unbounded_of(row)
    limits = {
        "a record's epsilon": study.max_epsilon_record,
        "a column's epsilon": study.max_epsilon_column,
        "the central epsilon": study.max_central_epsilon,
    }
    if found is None or all(limit is None for limit in limits.values()):
        return
    words = " and ".join(
        f"{what} to {limit:.4g}" for what, limit in limits.items() if limit is not None
    )
    raise BudgetExceeded(
        f"{found.message.statement} Such a release does not fit the study's budget, which"
        f" limits {words}.",
        where="kind",
        remedy="Release records randomized by a plan, or a differentially private tree, or ask the"
        " operator for a study without a budget.",
    )


def warnings_of(releases: Sequence[Unbounded], randomized: Sequence[tuple[str, str]]) -> list[str]:
    """Return warnings about releases that the sums exclude, given the `randomized` columns."""
    if not releases:
        return []
    owners = sorted({one.message.owner for one in releases})
    sentence = (
        f"The sums exclude {len(releases)} releases without a gamma (of {first_few(owners)}). For a"
        " record in such a release, none of the sums bounds the whole disclosure."
    )
    return [sentence, *_twice(releases), *_both(releases, randomized)]


def _twice(releases: Sequence[Unbounded]) -> Iterator[str]:
    by_owner: dict[str, set[str]] = {}
    for one in releases:
        by_owner.setdefault(one.message.owner, set()).add(one.digest)
    for owner, digests in by_owner.items():
        if len(digests) > 1:
            yield (
                f"{owner} has sent {len(digests)} different releases without a gamma. If their"
                " records overlap, the difference between them can reveal exact values."
            )


def _both(releases: Sequence[Unbounded], randomized: Sequence[tuple[str, str]]) -> Iterator[str]:
    columns = {
        (one.message.owner, name)
        for one in releases
        for name in (*one.message.confidential, *one.message.told)
    }
    both = sorted(columns & set(randomized))
    if both:
        yield (
            f"Some columns were sent both randomized and without a bound"
            f" ({first_few(f'{name} of {owner}' for owner, name in both)}). The stated loss of"
            " such a column's channel does not cover both together."
        )


def draws_of(row: ReleaseRow) -> list[str] | None:
    """Return the ids of each block's draws; changed reports are new draws. None if all are new."""
    if row.draws is None:
        return None
    anew = {tuple(one.variables) for one in repeated_of(row) or () if one.anew}
    return [
        f"{draw} {row.id}" if block.names in anew else draw
        for block, draw in zip(costs_of(row), json.loads(row.draws), strict=True)
    ]


def changed_reports(rows: Iterable[ReleaseRow]) -> list[ChangedReports]:
    """Return the blocks whose reports changed between releases, or were not compared."""
    groups: dict[str, list[_SameDraws]] = {}
    for row in rows:
        for block in drawn(row):
            known = groups.setdefault(block.digest, [])
            same = [group for group in known if group.draws & block.draws]
            known[:] = [group for group in known if group not in same]
            known.append(
                _SameDraws(
                    block.names,
                    block.draws.union(*(group.draws for group in same)),
                    [*(one for group in same for one in group.rows), row],
                )
            )
    found = (_count_changes(group) for known in groups.values() for group in known)
    return [change for change in found if change.records or change.not_compared]


def warnings_of_changes(changes: Sequence[ChangedReports]) -> list[str]:
    """Return warnings about reports that changed although the draws are the same."""
    sentences = []
    for owner in dict.fromkeys(one.owner for one in changes):
        mine = [one for one in changes if one.owner == owner]
        changed = [one for one in mine if one.records]
        each = [f"{'*'.join(one.variables)} {one.records:,}" for one in changed]
        if changed:
            most = max(changed, key=lambda one: one.records)
            at_least = "At least " if len(changed) > 1 or most.releases > 2 else ""
            are = "is" if most.records == 1 else "are"
            sentences.append(
                f"{at_least}{most.records:,} of {most.of:,} records of owner {owner} {are} reported"
                f" differently in {most.releases} releases by the same draws ({first_few(each)}). A"
                " reader of these releases learns whose values changed, and no epsilon bounds what"
                " the reports of these people disclose together. The sums count the later reports"
                " as new draws."
            )
        if missing := max(one.not_compared for one in mine):
            some = f"{missing:,} releases" if missing > 1 else "1 release"
            sentences.append(
                f"{some} of owner {owner} could not be compared with others by the same draws"
                " (withdrawn or unreadable). The sums assume, as the owner states, that no record"
                " is reported differently in them."
            )
    return sentences


@dataclass(frozen=True, eq=False)
class _SameDraws:
    names: tuple[str, ...]
    draws: frozenset[str]
    rows: list[ReleaseRow]


def _count_changes(same: _SameDraws) -> ChangedReports:
    names, group = same.names, same.rows
    # Open releases are compared at their seal.
    sealed = sorted((row for row in group if row.sealing is not None), key=lambda r: r.sealing or 0)
    entries = [
        next((one for one in repeated_of(row) or () if tuple(one.variables) == names), None)
        for row in sealed
    ]
    dropped = sum(row.state == "withdrawn" and row.sealing is None for row in group)
    short = (place - (0 if one is None else one.compared) for place, one in enumerate(entries))
    differing = {
        name
        for row, entry in zip(sealed, entries, strict=True)
        if entry is not None and entry.changed
        for name in (row.id, *entry.releases)
    }
    most = max((entry for entry in entries if entry), key=lambda entry: entry.changed, default=None)
    return ChangedReports(
        owner=group[-1].owner,  # under its current name
        variables=list(names),
        releases=len(differing),
        records=0 if most is None else most.changed,
        of=0 if most is None else most.records,
        not_compared=max((0, *short)) + (dropped if len(group) > 1 else 0),
    )


@dataclass(frozen=True)
class BlockCost:
    """The properties of a block that privacy sums need, cached because plans may be long."""

    names: tuple[str, ...]
    digest: str
    randomized: bool
    amplification: Amplification
    coin: CoinDisclosure | None


@cached_by_content
def costs_of(row: ReleaseRow) -> tuple[BlockCost, ...]:
    """Return the `BlockCost` of each block of a release's plan."""
    plan = kind_of_release(row).plan(content_of(row))
    return () if plan is None else costs(plan)


def costs(plan: Plan) -> tuple[BlockCost, ...]:
    """Return the `BlockCost` of each block of a plan."""
    return tuple(
        BlockCost(block.names, block.digest, not block.channel.is_identity, *_cost(block))
        for block in plan.blocks
    )


def _cost(block: Block) -> tuple[Amplification, CoinDisclosure | None]:
    try:
        return Amplification.of(block.channel), CoinDisclosure.of(block.channel)
    except LimitExceeded:
        # Without a computable bound, the loss counts as infinite.
        return Amplification(math.inf), None


@dataclass(frozen=True)
class DrawnBlock:
    """A randomized block and the ids of its draws; `digest` is of its variables and channel."""

    digest: str
    names: tuple[str, ...]
    draws: frozenset[str]

    def repeats(self, other: DrawnBlock) -> bool:
        """Return whether both blocks report every record identically unless the record changed."""
        return self.digest == other.digest and bool(self.draws & other.draws)


def drawn(row: ReleaseRow) -> list[DrawnBlock]:
    """Return the randomized blocks of a release; an empty list if it does not state its draws."""
    blocks = costs_of(row)
    named = [json.loads(draws) for draws in (row.draws, row.keyed_draws) if draws is not None]
    if not named:
        return []
    each = zip(blocks, zip(*named, strict=True), strict=True)
    return [DrawnBlock(b.digest, b.names, frozenset(draws)) for b, draws in each if b.randomized]
