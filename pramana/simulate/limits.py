"""What learning structures will take, told before it starts by the plan alone, and an end to it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, cast

from pramana_core.errors import LimitExceeded
from pramana_core.plan import Plan
from pramana_core.progress import OnShare

if TYPE_CHECKING:
    from miner_service.kinds.counts import CountsKind
    from pramana.simulate.bayes_net import StructureOptions
    from pramana.simulate.study import Trials


def predicted_seconds(trials: Trials, options: StructureOptions) -> float:
    """Return the seconds of one processor that all runs will take, as a miner predicts a job's.

    It is right within a factor: half of all jobs take less than 1.6 times as long or as short.
    """
    domain = trials.source.domain
    of_reports = _seconds(trials, options, trials.plan, options.estimator, options.draws)
    of_records = _seconds(trials, options, Plan.unrandomized(domain), "moment", 0)
    return trials.runs * (of_reports + of_records)


def _seconds(
    trials: Trials, options: StructureOptions, plan: Plan, estimator: str, draws: int
) -> float:
    from pydantic import ValidationError

    from miner_service.kinds import kind_of
    from miner_service.kinds.counting import Extent, RecordLayout
    from pramana_core.estimation.core.loglinear import default_order
    from pramana_core.wire.learning.jobs import BayesNetStructureSpec

    names = trials.source.domain.names
    asked = {
        "kind": "bayes-net-structure",
        "estimator": estimator,
        "score": {"name": options.scoring.name},
        "search": asdict(options.search(trials.source.order)),
        "draws": draws,
        "order": default_order([plan]) if estimator == "pooled" else None,
    }
    try:
        spec = BayesNetStructureSpec.model_validate(asked)
    except ValidationError:  # no miner takes names as long as these, so nothing is predicted
        return 0.0
    kind = cast("CountsKind[BayesNetStructureSpec, Any]", kind_of(spec))
    extent = Extent(names, RecordLayout((plan,)), trials.records)
    return kind.work(spec, extent).cost().seconds


def ending(
    on_step: OnShare, seconds: float | None, clock: Callable[[], float] = time.monotonic
) -> OnShare:
    """Return a receiver of progress that ends what takes longer than so many seconds.

    Raises (when it is called):
        LimitExceeded: the time is over.
    """
    if seconds is None:
        return on_step
    started = clock()

    def step(share: float) -> None:
        if clock() - started >= seconds:
            raise LimitExceeded(
                f"The simulation was ended after {seconds:g} seconds, {share:.0%} of it done.",
                where="--limit",
                remedy="Allow more by --limit, or ask for less: fewer --runs, fewer --max-parents,"
                " --search chow-liu, or fewer variables.",
            )
        on_step(share)

    return step
