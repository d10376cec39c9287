"""What no epsilon bounds: releases without a plan, and records reported differently by one draw."""

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
    """A release that nothing bounds, and the identity of its content."""

    digest: str
    message: UnboundedRelease


@dataclass(frozen=True)
class Bound:
    """What bounds a release as a whole, or why nothing does, and the columns it speaks of."""

    columns: Mapping[str, bool]
    epsilon: float | None
    statement: str | None


@cached_by_content
def bound_of(row: ReleaseRow) -> Bound:
    """Return what bounds a release as a whole."""
    kind, content = kind_of_release(row), content_of(row)
    return Bound(kind.columns(content), kind.epsilon(content), kind.unbounded(content))


def unbounded_of(row: ReleaseRow) -> Unbounded | None:
    """Return the statement on a release that nothing bounds; None for one that something does."""
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
    """Check that nothing must bound a release. Raises BudgetExceeded."""
    found = unbounded_of(row)
    limits = {"a record": study.record_limit, "a column": study.max_epsilon_column}
    if found is None or all(limit is None for limit in limits.values()):
        return
    words = " and ".join(
        f"{limit:.4g} for {of}" for of, limit in limits.items() if limit is not None
    )
    raise BudgetExceeded(
        f"{found.message.statement} The study has a budget of epsilon {words}, into which no such"
        " release fits. Nothing was stored.",
        where="kind",
        remedy="Release what something bounds: records that a plan randomizes, or a differentially"
        " private tree; or ask whoever runs the study for one without a budget.",
    )


def warnings_of(releases: Sequence[Unbounded], randomized: Sequence[tuple[str, str]]) -> list[str]:
    """Return warnings about releases that sums leave out, given columns that a plan randomizes."""
    if not releases:
        return []
    owners = sorted({one.message.owner for one in releases})
    sentence = (
        f"The sums leave out {len(releases)} releases that carry no gamma (of {first_few(owners)}):"
        " for a record in one of them, no figure here is a bound on all that was told of it."
    )
    return [sentence, *_twice(releases), *_both(releases, randomized)]


def _twice(releases: Sequence[Unbounded]) -> Iterator[str]:
    by_owner: dict[str, set[str]] = {}
    for one in releases:
        by_owner.setdefault(one.message.owner, set()).add(one.digest)
    for owner, digests in by_owner.items():
        if len(digests) > 1:
            yield (
                f"{owner} has sent {len(digests)} different releases that carry no gamma. If their"
                " records overlap, the difference between them can give values away exactly."
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
            f"Columns were sent both randomized and without a bound"
            f" ({first_few(f'{name} of {owner}' for owner, name in both)}): what the channel of"
            " such a column states does not hold for what both tell together."
        )


def draws_of(row: ReleaseRow) -> list[str] | None:
    """Return the identity of each block's draws, anew where reports changed; None: all its own."""
    if row.draws is None:
        return None
    anew = {tuple(one.variables) for one in repeated_of(row) or () if one.anew}
    return [
        f"{draw} {row.id}" if block.names in anew else draw
        for block, draw in zip(costs_of(row), json.loads(row.draws), strict=True)
    ]


def changed_reports(rows: Iterable[ReleaseRow]) -> list[ChangedReports]:
    """Return the blocks that releases report differently, or that were not compared."""
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
    found = (_changed(group) for known in groups.values() for group in known)
    return [change for change in found if change.records or change.not_compared]


def warnings_of_changes(changes: Sequence[ChangedReports]) -> list[str]:
    """Return what a reader of a study's sums must know of reports that changed under one draw."""
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
                f" differently in {most.releases} releases by the same draws ({first_few(each)}):"
                " whoever has these releases knows whose values changed, and no epsilon bounds what"
                " the reports tell of these people together. The sums count the further reports as"
                " drawn anew."
            )
        if missing := max(one.not_compared for one in mine):
            some = f"{missing:,} releases" if missing > 1 else "1 release"
            sentences.append(
                f"{some} of owner {owner} could not be compared with others by the same draws"
                " (withdrawn, or not readable): that no record is reported differently in them is"
                " the owner's word, and the sums rest on it."
            )
    return sentences


@dataclass(frozen=True, eq=False)
class _SameDraws:
    """Releases that have a block by the same draws, and all that identifies these."""

    names: tuple[str, ...]
    draws: frozenset[str]
    rows: list[ReleaseRow]


def _changed(same: _SameDraws) -> ChangedReports:
    names, group = same.names, same.rows
    # Those that are open are compared when they are sealed.
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
        owner=group[-1].owner,  # under the name it has now
        variables=list(names),
        releases=len(differing),
        records=0 if most is None else most.changed,
        of=0 if most is None else most.records,
        not_compared=max(short, default=0) + (dropped if len(group) > 1 else 0),
    )


@dataclass(frozen=True)
class BlockCost:
    """All that sums need of a block: a plan may hold whole matrices, and many are remembered."""

    names: tuple[str, ...]
    digest: str
    randomized: bool
    amplification: Amplification
    coin: CoinDisclosure | None


@cached_by_content
def costs_of(row: ReleaseRow) -> tuple[BlockCost, ...]:
    """Return what the blocks of a release's plan cost."""
    plan = kind_of_release(row).plan(content_of(row))
    return () if plan is None else costs(plan)


def costs(plan: Plan) -> tuple[BlockCost, ...]:
    """Return what the blocks of a plan cost."""
    return tuple(
        BlockCost(block.names, block.digest, not block.channel.is_identity, *_cost(block))
        for block in plan.blocks
    )


def _cost(block: Block) -> tuple[Amplification, CoinDisclosure | None]:
    try:
        return Amplification.of(block.channel), CoinDisclosure.of(block.channel)
    except LimitExceeded:
        # A bound that cannot be computed bounds nothing.
        return Amplification(math.inf), None


@dataclass(frozen=True)
class DrawnBlock:
    """A randomized block and the identities of its draws; `digest`: of variables and channel."""

    digest: str
    names: tuple[str, ...]
    draws: frozenset[str]

    def repeats(self, other: DrawnBlock) -> bool:
        """Whether a record that both have is reported the same unless its value was changed."""
        return self.digest == other.digest and bool(self.draws & other.draws)


def drawn(row: ReleaseRow) -> list[DrawnBlock]:
    """Return the randomized blocks whose draws a release names."""
    blocks = costs_of(row)
    named = [json.loads(draws) for draws in (row.draws, row.keyed_draws) if draws is not None]
    if not named:
        return []
    each = zip(blocks, zip(*named, strict=True), strict=True)
    return [DrawnBlock(b.digest, b.names, frozenset(draws)) for b, draws in each if b.randomized]
