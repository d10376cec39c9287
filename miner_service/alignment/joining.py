"""Joining owners' releases: the records a job uses, and the marginals over them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from miner_service.alignment.align import AlignedSource, Aligner, Mask
from miner_service.alignment.coins import require_one_coin
from pramana_core.estimation.estimated import EstimatedMarginals
from pramana_core.marginals.counts import Codes, Marginals, ReportedCounts
from pramana_core.plan import Block, Plan
from pramana_core.progress import Tick, unstopped
from pramana_core.wire.learning.counting import CountsSpec
from pramana_core.wire.parts import Values

LoadColumns = Callable[[str, Sequence[str]], Mapping[str, Values]]
"""Returns some columns of a sealed release."""


@dataclass(frozen=True)
class PlannedRelease:
    """A sealed release with its plan."""

    source: AlignedSource
    plan: Plan


Needed = Sequence[tuple[PlannedRelease, tuple[Block, ...]]]
"""The blocks that a job needs, by release."""


def marginals_of(
    spec: CountsSpec,
    releases: Sequence[PlannedRelease],
    needed: Needed,
    aligner: Aligner,
    load: LoadColumns,
    variables: Sequence[str],
    tick: Tick = unstopped,
) -> Marginals:
    """Return the marginals of some variables over the records that a job uses.

    What `tick` raises stops an estimate.

    Raises:
        CoinsDisagree: owners that follow one study plan report different sets of a record.
        DomainError: with records `any`, two owners give a variable different categories.
    """
    columns = [
        load(release.source.release, [name for block in blocks for name in block.names])
        for release, blocks in needed
    ]
    strata = [
        _stratum(needed, columns, chosen, tick)
        for chosen in _chosen(spec, releases, needed, aligner)
    ]
    return EstimatedMarginals.of(
        strata, estimator=spec.estimator, order=spec.order, variables=variables, tick=tick
    )


def _chosen(
    spec: CountsSpec, releases: Sequence[PlannedRelease], needed: Needed, aligner: Aligner
) -> Sequence[Sequence[Mask | None]]:
    """Return the sets of records of a job: which of each needed release's belong to each."""
    if spec.records == "any":
        return aligner.patterns([release.source for release, _ in needed])
    sources = [release.source for release in releases]
    if len({source.keys_digest for source in sources}) == 1:
        return [[np.ones(release.source.records, dtype=np.bool_) for release, _ in needed]]
    # Of all releases in use, not only of those whose variables are needed.
    common = dict(zip(sources, aligner.common(sources), strict=True))
    return [[common[release.source] for release, _ in needed]]


def _stratum(
    needed: Needed,
    columns: Sequence[Mapping[str, Codes]],
    chosen: Sequence[Mask | None],
    tick: Tick,
) -> tuple[ReportedCounts, Plan]:
    """Return the reports of a set of records and the plan they were made under."""
    joined: dict[str, Codes] = {}
    present: list[tuple[str, Block]] = []
    for (release, blocks), own, mask in zip(needed, columns, chosen, strict=True):
        if mask is None:
            continue
        joined |= {name: own[name] if mask.all() else own[name][mask] for name in own}
        present += [(release.source.owner, block) for block in blocks]
    require_one_coin(present, joined, tick)
    whole = Plan.combine([Plan(tuple(block for _, block in present))])
    reported = {name: joined[name] for name in whole.domain.names}
    return ReportedCounts(reported, whole.reported_sizes), whole
