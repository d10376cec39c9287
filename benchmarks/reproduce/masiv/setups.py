"""MaSiv's two setups: a miner who has everybody's reports (II), or the parties alone (I)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from benchmarks.reproduce import data
from pramana.setups import SeededOwner
from pramana_core.estimation.estimated import EstimatedMarginals
from pramana_core.marginals.counts import Codes
from pramana_core.plan import Plan

MINER, PEERS = BOTH = "with a miner (II)", "without (I)"

SITES = ("ABC", "DEF")
"""The nodes of the two sites of figure 3: D has its parents at the other site (Ma 5.6.2)."""

PARTITION = (
    "Figure 3 and its partition are lost; A, B and C are at one site, D, E and F at the other, as"
    " Ma 5.6.2 says of the same network."
)


@dataclass(frozen=True)
class View:
    """What a learner has of the six nodes: the plan of its copy, and the nodes it learns."""

    plan: Plan
    nodes: str

    def marginals(
        self, owner: SeededOwner, codes: Mapping[str, Codes], run: int
    ) -> EstimatedMarginals:
        """Return the estimates from its copy; whoever sees a block sees the same draws."""
        columns = {name: codes[name] for name in self.plan.domain.names}
        return EstimatedMarginals(owner.report(self.plan, columns, run), self.plan)


def views(name: str, p: float) -> tuple[View, ...]:
    """Return what is learned from in a setup, every node randomized with parameter `p`.

    Without a miner a site has its own columns unrandomized and learns its own nodes.
    """
    if name == MINER:
        return (View(data.six_plan(p), "ABCDEF"),)
    return tuple(View(data.six_plan(p, exact=site), site) for site in SITES)


def view_of(name: str, p: float, node: str) -> View:
    """Return the view in which a setup learns a node, of the node's family alone."""
    (site,) = (view.nodes for view in views(name, p) if node in view.nodes)
    family = data.family(node).nodes
    exact = site if name == PEERS else ""
    return View(data.six_plan(p, "".join(family), exact=exact), node)
