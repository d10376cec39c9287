"""The central bound of releases: the loss against readers who do not have the linkage secret.

Records that are in the same releases and agree in all public columns form a group, in which each
record hides. A record's loss is its joint loss by these releases, plus the epsilons of private
trees, which need no group. The plan of a release, or a study plan, was fixed before any of its
reports was seen, so its own mechanism counts. Later releases may depend on earlier results.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterable, Sequence

import numpy as np
from cachetools import LRUCache, cached

from miner_service.alignment.align import LinkageSecrets
from miner_service.intake.unbounded import changed_reports, costs, costs_of, unbounded_of
from miner_service.services import Services, source_of
from miner_service.store.releases import content_of, kind_of_release
from miner_service.store.schema import ReleaseRow, StudyRow
from pramana_core.plan import Plan
from pramana_core.privacy import (
    DELTA,
    NOTHING,
    BlockDisclosure,
    ShuffledReport,
    central_loss,
    smallest_group,
    total_loss,
)
from pramana_core.study_plan import StudyPlan
from pramana_core.wire.privacy import CentralMessage

Arrived = Sequence[tuple[ReleaseRow, Sequence[BlockDisclosure]]]
"""Releases with at least one arrived part, each with its losses by block."""

Counted = Sequence[tuple[ReleaseRow | Plan, Sequence[BlockDisclosure]]]
"""Releases, announced or only planned, that a budget counts, each with its losses by block."""

Others = Sequence[Sequence[BlockDisclosure]]
"""The losses by block of each release that results do not use."""

_COMPARED = 1 << 22
"""The maximum number of records whose public columns are compared with each other."""


def central_of(
    services: Services, study: StudyRow, arrived: Arrived, others: Others = ()
) -> CentralMessage:
    """Return the central bound of releases, or the reason why there is no bound.

    `others` are the losses of the study's other releases, whose results may have been seen.
    """
    there = [row for row, _ in arrived if kind_of_release(row).has_records]
    why = _why_not(there, [row for row, _ in arrived])
    if why:
        return CentralMessage(unstated=why)
    sealed = [row for row in there if row.state == "sealed"]
    trees = total_loss(t for row, mine in arrived if row not in there for t in mine)
    delta = DELTA if study.max_central_epsilon is None else study.central_delta
    found = []
    for digests, records in _groups(services, sealed):
        mine = [(row, each) for row, each in arrived if row.keys_digest in digests]
        found.append(CentralMessage.of(_joint_report(mine, others), records, delta))
    worst = max(found, key=lambda one: math.inf if one.epsilon is None else one.epsilon)
    if worst.epsilon is None:
        return worst
    more = trees.record.determined.epsilon
    known = [one.known_set for one in found if one.known_set is not None]
    known_set = max(worst.epsilon, *known) + more if known else None
    return worst.model_copy(update={"epsilon": worst.epsilon + more, "known_set": known_set})


def budgeted_epsilon(study: StudyRow, released: Counted | StudyPlan) -> float:
    """Return the central epsilon at the study's central budget, if releases have the same records.

    The study must have a central budget.
    """
    if isinstance(released, StudyPlan):
        report = ShuffledReport.of(released.together)
    else:
        report = _joint_report(released, ())
    return central_loss(report, study.central_records or 1, study.central_delta).epsilon


def _joint_report(group: Counted, others: Others) -> ShuffledReport:
    """Return a record's joint report by the releases of its group."""
    loss = total_loss(t for _, each in group for t in each).record.determined
    rows = {draws: row for row, each in group if (draws := frozenset(_drawn(each)))}
    if math.isinf(loss.epsilon) or not rows:
        return ShuffledReport(loss)
    seen = {*rows, *(frozenset(_drawn(each)) for each in others)}
    drawn = _drawn(t for each in (*(each for _, each in group), *others) for t in each)
    coins = {None if t.coin is None else t.coin.coin for t in drawn.values()}
    owners = {t.owner for t in drawn.values()}
    one_coin = None not in coins and len(coins) == 1 and len(owners) == len(drawn) and all(seen)
    if len(seen) == 1 or one_coin:
        return _report_of(tuple(rows.values()))
    joint = ShuffledReport.together((_report_of((row,)) for row in rows.values()), adaptive=True)
    return ShuffledReport(loss, set_weights=joint.set_weights)


def _drawn(each: Iterable[BlockDisclosure]) -> dict[str, BlockDisclosure]:
    return {t.draw: t for t in each if t.randomized and t.amplification > NOTHING}


@cached(
    LRUCache(256),
    key=lambda rows: tuple(
        row.digest if isinstance(row, Plan) else (row.kind, row.content_digest) for row in rows
    ),
    lock=threading.Lock(),
)
def _report_of(rows: Sequence[ReleaseRow | Plan]) -> ShuffledReport:
    """Return the report by one release's plan, or by several parts of a study plan."""
    plans = (
        (costs(row), row)
        if isinstance(row, Plan)
        else (costs_of(row), kind_of_release(row).plan(content_of(row)))
        for row in rows
    )
    each = (pair for known, plan in plans if plan for pair in zip(known, plan.blocks, strict=True))
    noisy = (b for cost, b in each if cost.randomized and cost.amplification > NOTHING)
    return ShuffledReport.of(Plan.combine([Plan(tuple(noisy))]))


def _why_not(there: Sequence[ReleaseRow], rows: Sequence[ReleaseRow]) -> str:
    sealed = [row for row in there if row.state == "sealed"]
    digests = {row.keys_digest for row in sealed}
    public = [row for row in there if _public(row)]
    secrets = LinkageSecrets.of((row.owner, row.linkage) for row in there)
    if any(unbounded_of(row) is not None for row in rows):
        return "some releases have no gamma."
    if changed_reports(there):
        return "releases with the same draws differ in a record, or could not be compared."
    if not any(cost.randomized for row in sealed for cost in costs_of(row)):
        return "no complete release has randomized columns."
    others = [row for row in there if row not in sealed]
    if any(row.sealed is None or row.keys_digest not in digests or row in public for row in others):
        return "a release is incomplete or withdrawn, so its records cannot be compared."
    if len(digests) > 1 and secrets.state != "same":
        return "the releases use several linkage secrets, so a person may have several pseudonyms."
    if public and sum(row.records for row in sealed) > _COMPARED:
        return f"public columns are compared for at most {_COMPARED:,} records."
    return ""


def _groups(services: Services, rows: Sequence[ReleaseRow]) -> list[tuple[set[str | None], int]]:
    """Return the groups of records, each as the pseudonym digests of its releases and its size."""
    if any(map(_public, rows)):
        # Only the smallest group counts, as if its records were in all releases.
        return [({row.keys_digest for row in rows}, _smallest(services, rows))]
    digest = {row.id: row.keys_digest for row in rows}
    together = services.aligner.together([source_of(row) for row in rows])
    return [({digest[name] for name in names}, records) for names, records in together.items()]


@cached(
    LRUCache(256),
    key=lambda _services, rows: tuple((row.digest, row.data_sha256) for row in rows),
    lock=threading.Lock(),
)
def _smallest(services: Services, rows: Sequence[ReleaseRow]) -> int:
    found = [services.reports(row.id, _public(row)) for row in rows]
    everybody = np.unique(np.concatenate([reports.keys for reports in found]))
    known = []
    for reports in found:
        place = np.searchsorted(everybody, reports.keys)
        for codes in (place * 0, *reports.columns.values()):
            column = np.zeros(len(everybody), np.int32)
            column[place] = codes.astype(np.int32) + 1
            known.append(column)
    return smallest_group(known)


def _public(row: ReleaseRow) -> list[str]:
    return [name for cost in costs_of(row) if not cost.randomized for name in cost.names]
