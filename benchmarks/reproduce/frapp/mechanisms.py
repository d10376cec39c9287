"""The perturbation mechanisms FRAPP compares, ours, and how each one's reports are read."""

from __future__ import annotations

import math
from dataclasses import dataclass

from benchmarks.reproduce.frapp.data import GAMMA, MINIMUM
from pramana_core.channels import CutAndPaste
from pramana_core.design import Comparison, Problem, Requirements, compare, goal, reference
from pramana_core.design.families import (
    cut_and_paste,
    gamma_diagonal,
    independent,
    mask_channel,
    random_gamma_diagonal,
)
from pramana_core.domain import Domain
from pramana_core.errors import OptionError
from pramana_core.estimation.estimated import EstimatedMarginals, Estimator
from pramana_core.marginals.counts import CUBE_CELLS, ReportTables
from pramana_core.plan import Block, Plan
from pramana_core.privacy import Amplification
from pramana_core.progress import OnShare

CUT = 3
"""K, the most items of a record that cut and paste keeps (FRAPP 7)."""

RHO = 0.494
"""The probability of inserting an item that FRAPP 7 gives for K = 3."""

_SAMPLED = {
    "sampled-1": "sampled singles",
    "sampled-2": "sampled pairs",
    "sampled-3": "sampled triples",
}


@dataclass(frozen=True)
class Mechanism:
    """What is done to the records and how supports are estimated from the reports.

    `most_runs` limits the repetitions of an estimate that takes long.
    """

    name: str
    plan: Plan
    estimator: Estimator = "moment"
    most_runs: int | None = None

    @property
    def gamma(self) -> float:
        """The amplification about the whole record."""
        return Amplification.together(self.plan.blocks).gamma

    @property
    def countable(self) -> bool:
        """Whether all reports together make a table small enough to count at once."""
        return math.prod(self.plan.reported_sizes.values()) <= CUBE_CELLS

    def marginals(self, reported: ReportTables) -> EstimatedMarginals:
        """Return what the reports tell, no more than two items interacting where it is a model."""
        return EstimatedMarginals(reported, self.plan, estimator=self.estimator, order=2)


def demands(domain: Domain) -> Requirements:
    """Return FRAPP's demand: no record's report amplifies by more than 19."""
    return Requirements(domain, dict.fromkeys(domain.names, GAMMA), GAMMA)


def det_gd(domain: Domain) -> Mechanism:
    """DET-GD, the gamma-diagonal matrix over the whole record (FRAPP 3)."""
    return Mechanism("DET-GD", gamma_diagonal(demands(domain)))


def papers_mechanisms(domain: Domain) -> tuple[Mechanism, ...]:
    """Return the four mechanisms of FRAPP 7, cut and paste also with the rho it prints."""
    needs = demands(domain)
    pasted = CutAndPaste.from_probability(domain.shape, CUT, RHO)
    return (
        det_gd(domain),
        Mechanism("RAN-GD", random_gamma_diagonal(needs)),
        Mechanism("MASK", mask_channel(needs)),
        Mechanism("C&P", cut_and_paste(CUT)(needs)),
        Mechanism(f"C&P, rho {RHO}", Plan((Block(tuple(domain), pasted),))),
    )


def independent_columns(domain: Domain) -> Mechanism:
    """Every column by a symmetric channel of its own; the amplifications multiply to 19."""
    return Mechanism("independent", independent(demands(domain)))


def designed(domain: Domain, records: int, progress: OnShare) -> tuple[Mechanism, Comparison]:
    """Return the designer's choice for itemsets of all lengths, with what it compared.

    The designer has not seen the data: every variable's reference distribution is uniform.

    Raises:
        OptionError: no family meets the need, or the best one's estimator is not for itemsets.
    """
    wanted = goal(domain, "itemsets", length=len(domain), minimum_support=MINIMUM)
    found = compare(
        Problem(demands(domain), wanted, reference(domain), records),
        lambda _, done, total: progress(done / total),
    )
    best = found.best
    if best.plan is None:
        raise OptionError("The designer found no plan.", remedy="Allow a larger gamma.")
    # Other families have the names of mechanisms that the paper compares.
    name = _SAMPLED.get(best.family, "designed")
    estimator: Estimator = "log-linear" if best.estimator == "log-linear" else "moment"
    return Mechanism(name, best.plan, estimator), found


def with_our_estimator(mechanism: Mechanism) -> Mechanism:
    """Return a mechanism, starred, whose reports the log-linear model reads: one run, for time."""
    return Mechanism(f"{mechanism.name}*", mechanism.plan, "log-linear", most_runs=1)
