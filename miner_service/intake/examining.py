"""The checks of a release when it is sealed. Their findings never prevent the seal.

One check is whether the reports fit the release's plan. The other is whether they agree with
earlier reports that used the same draws.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy.orm import Session

from miner_service.alignment.copies import Blocks, Reports, repeated
from miner_service.intake.unbounded import DrawnBlock, drawn
from miner_service.services import Services
from miner_service.store.releases import find_release, releases_of
from miner_service.store.schema import ReleaseRow
from pramana_core.errors import HistoryLost, PramanaError
from pramana_core.estimation.plausibility import examine
from pramana_core.wire.parts import Values
from pramana_core.wire.release_kinds import ReleaseKind
from pramana_core.wire.releases import Consistency, RepeatedReports

log = logging.getLogger(__name__)

Load = Callable[[Sequence[str]], dict[str, Values]]
"""A function that returns the named columns of the release."""


def examined(release: str, kind: ReleaseKind[Any, Any], content: Any, load: Load) -> Consistency:
    """Check whether a release's reports fit its plan. A failed check is a finding, not an error."""
    plan = kind.plan(content)
    if plan is None:
        return _not_examined(kind.unexamined or "")
    try:
        found = examine(load(list(plan.reported_sizes)), plan)
    except PramanaError as error:
        return _not_examined(error.message)
    except Exception:
        log.exception("release %s could not be examined", release)
        return _not_examined("The check failed; see the service's log.")
    if not found.tables:
        why = "Its tables are too large." if found.left_out else "It has no randomized column."
        return _not_examined(why, found.left_out)
    return Consistency(
        state="inconsistent" if found.inconsistent else "consistent",
        p_value=found.p_value,
        variables=list(found.worst),
        tables=len(found.tables),
        left_out=found.left_out,
        reason=None,
    )


def _not_examined(reason: str, left_out: int = 0) -> Consistency:
    return Consistency(
        state="not-examined",
        p_value=None,
        variables=[],
        tables=0,
        left_out=left_out,
        reason=reason,
    )


@dataclass(frozen=True)
class Repetitions:
    """The findings for a release. `with_` has the ids of the earlier releases looked up."""

    with_: frozenset[str]
    found: tuple[RepeatedReports, ...]

    def complete(self, session: Session, row: ReleaseRow) -> bool:
        """Return whether this covers all earlier releases that used the same draws."""
        return self.with_.issuperset(other.id for other, _ in _earlier(session, row))


def compared(services: Services, release: str) -> Repetitions:
    """Compare a release with the readable earlier releases that used the same draws."""
    with services.database.read() as session:
        row = find_release(session, release)
        earlier = [(other.id, blocks) for other, blocks in _earlier(session, row)]
    wanted = frozenset(name for name, _ in earlier)
    names = {name for _, blocks in earlier for block in blocks.values() for name in block}
    new = _reports(services, release, sorted(names)) if earlier else None
    readable = [
        (name, (reports, blocks))
        for name, blocks in earlier
        if (reports := _reports(services, name, [n for b in blocks.values() for n in b]))
    ]
    if new is None or not readable:
        return Repetitions(wanted, ())
    found = repeated(new, [one for _, one in readable])
    variables = {block: names for _, (_, blocks) in readable for block, names in blocks.items()}
    messages = (
        RepeatedReports(
            variables=list(variables[block]),
            compared=sum(block in blocks for _, (_, blocks) in readable),
            records=comparison.records,
            changed=comparison.changed,
            releases=[readable[place][0] for place in sorted(comparison.differing)],
            anew=comparison.anew,
        )
        for block, comparison in found.items()
    )
    return Repetitions(wanted, tuple(messages))


def _earlier(session: Session, row: ReleaseRow) -> list[tuple[ReleaseRow, Blocks]]:
    """Return the other sealed releases that used the same draws, and the blocks concerned."""
    mine = drawn(row)
    if not mine:
        return []
    shared = [
        (other, _shared_blocks(mine, drawn(other)))
        for other in releases_of(session, row.study)
        if other.id != row.id and other.state == "sealed"
    ]
    return [(other, blocks) for other, blocks in shared if blocks]


def require_known(session: Session, row: ReleaseRow, builds_on: Sequence[str] | None) -> None:
    """Check that the owner's agent knows all earlier releases. Raises HistoryLost.

    An agent with an outdated state could make new reports from the same draws.
    """
    mine, known = drawn(row), set(builds_on or ())
    for other in releases_of(session, row.study):
        if other.id == row.id or other.digest in known:
            continue
        if (builds_on is not None and other.owner == row.owner) or (
            other.owner != row.owner and _shared_blocks(mine, drawn(other))
        ):
            raise HistoryLost(
                f"Owner {other.owner} announced release {other.name}, on which this release does"
                " not build. Its state directory lacks earlier releases. Nothing was stored.",
                where=other.name,
                remedy="Publish from the state directory that sent that release, under the same"
                f" owner's name. The operator can invite {other.owner} again.",
            )


def _shared_blocks(mine: Sequence[DrawnBlock], others: Sequence[DrawnBlock]) -> Blocks:
    return {b.digest: b.names for b in mine if any(b.repeats(other) for other in others)}


def _reports(services: Services, release: str, names: Sequence[str]) -> Reports | None:
    try:
        return services.reports(release, names)
    except Exception:  # withdrawn meanwhile, or damaged
        log.exception("release %s could not be compared with others", release)
        return None
