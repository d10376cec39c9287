"""Releases of a study that no plan bounds: what is said of them, and why a budget refuses them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from miner_service.store.releases import content_of, kind_of_release
from miner_service.store.remembered import Remembered
from miner_service.store.schema import ReleaseRow, StudyRow
from shared.errors import BudgetExceeded
from shared.wire.privacy import UnboundedRelease

_SHOWN = 10


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


def _bound_of(row: ReleaseRow) -> Bound:
    kind, content = kind_of_release(row), content_of(row)
    return Bound(kind.columns(content), kind.epsilon(content), kind.unbounded(content))


BOUNDS = Remembered(_bound_of)


def unbounded_of(row: ReleaseRow) -> Unbounded | None:
    """Return what is said of a release that nothing bounds; None for one that something does."""
    bound = BOUNDS.of(row)
    if bound.statement is None:
        return None
    message = UnboundedRelease(
        owner=row.owner,
        kind=kind_of_release(row).name,
        confidential=[name for name, told in bound.columns.items() if not told],
        told=[name for name, told in bound.columns.items() if told],
        statement=bound.statement,
    )
    return Unbounded(row.digest, message)


def require_no_budget(study: StudyRow, row: ReleaseRow) -> None:
    """Check that a release that nothing bounds need not fit into a budget.

    Raises:
        BudgetExceeded: the study has one.
    """
    found = unbounded_of(row)
    limits = {"a record": study.max_epsilon_record, "a column": study.max_epsilon_column}
    if found is None or all(limit is None for limit in limits.values()):
        return
    told = " and ".join(
        f"{limit:.4g} for {of}" for of, limit in limits.items() if limit is not None
    )
    raise BudgetExceeded(
        f"{found.message.statement} The study has a budget of epsilon {told}, into which no such"
        " release fits. Nothing was stored.",
        where="kind",
        remedy="Release what something bounds: records that a plan randomizes, or a differentially"
        " private tree; or ask whoever runs the study for one without a budget.",
    )


def warnings_of(releases: Sequence[Unbounded], randomized: Sequence[tuple[str, str]]) -> list[str]:
    """Return what a reader of a study's sums must know of the releases that they leave out.

    Args:
        releases: those that left and that nothing bounds.
        randomized: the owner and name of each column that left by a plan that randomizes it.
    """
    if not releases:
        return []
    owners = sorted({one.message.owner for one in releases})
    said = (
        f"The sums leave out {len(releases)} releases that carry no gamma (of {_listed(owners)}):"
        " for a record in one of them, no figure here is a bound on all that was told of it."
    )
    return [said, *_twice(releases), *_both(releases, randomized)]


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
    held = {
        (one.message.owner, name)
        for one in releases
        for name in (*one.message.confidential, *one.message.told)
    }
    both = sorted(held & set(randomized))
    if both:
        yield (
            f"Columns were sent both randomized and without a bound"
            f" ({_listed([f'{name} of {owner}' for owner, name in both])}): what the channel of"
            " such a column states does not hold for what both tell together."
        )


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more
