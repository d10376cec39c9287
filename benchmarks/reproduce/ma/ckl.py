"""The conditional Kullback-Leibler distance of one node's parameters (Ma 5.6.3), in nats."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.reproduce.data import six_nodes
from benchmarks.reproduce.ratio_errors import parameter_errors
from pramana.setups.owner import SeededOwner
from pramana.simulate.study import fitted
from pramana_core.estimation.estimated import EstimatedMarginals
from pramana_core.learn.networks.network import BayesNet
from pramana_core.marginals.counts import Codes, Tensor
from pramana_core.pictures import plots as style

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

NODES = "CDF"
"""The nodes whose distances are shown."""

GOOD = 0.1
"""What we call good accuracy: at most this share of the distance that ignoring the parents has."""

SMALL = 0.01
"""Up to this many nats a distance is taken for what its second-order expansion says."""


def conditional_kl(counts: Tensor, estimate: Tensor) -> float:
    """Return sum_j P(j) KL(P0(. | j) || P1(. | j)).

    Args:
        counts: the clean counts of the family, the node's own axis last; they give P and P0.
        estimate: P1, with the same axes; positive.
    """
    joint = counts / counts.sum()
    clean = counts / counts.sum(axis=-1, keepdims=True)
    seen = joint > 0
    return float(np.sum(joint[seen] * np.log(clean[seen] / estimate[seen])))


def distances(
    owner: SeededOwner, codes: Mapping[str, Codes], p: float, run: int, nodes: str = NODES
) -> tuple[float, ...]:
    """Randomize records, learn the parameters of some nodes and return their distances.

    Args:
        owner: randomizes the first records of its own.
        codes: the true codes.
        p: the parameter of the binary symmetric randomization of every node.
        run: which of the owner's draw keys is used.
        nodes: the nodes, one character each.
    """
    structure = six_nodes.family(*nodes)
    plan = six_nodes.plan(p, "".join(structure.nodes))
    columns = {name: codes[name] for name in plan.domain.names}
    learned = fitted(EstimatedMarginals(owner.report(plan, columns, run), plan), structure)
    return tuple(_distance(codes, learned, node) for node in nodes)


def _distance(codes: Mapping[str, Codes], learned: BayesNet, node: str) -> float:
    return conditional_kl(six_nodes.counted(dict(codes), node), learned.tables[node])


def predicted(counts: Tensor, p: float) -> float:
    """Return the mean distance that the standard errors predict while they are small.

    To second order KL(q || q + e) is sum e^2 / 2 q, so that its mean is that of the variances.
    """
    flip = np.array([[1 - p, p], [p, 1 - p]])
    variance = parameter_errors(counts, [flip] * counts.ndim) ** 2
    margin = counts.sum(axis=-1, keepdims=True)
    return float(np.sum(margin / counts.sum() * variance / (2 * counts / margin)))


def ignoring_parents(counts: Tensor) -> float:
    """Return the distance if the parents are ignored: the information they have on the node."""
    alone = counts.sum(axis=tuple(range(counts.ndim - 1)))
    return conditional_kl(counts, np.broadcast_to(alone / alone.sum(), counts.shape))


def moments(values: Sequence[Sequence[float]]) -> tuple[Tensor, Tensor]:
    """Return mean and standard deviation over the runs, the first axis."""
    found = np.array(values, dtype=np.float64)
    return found.mean(axis=0), found.std(axis=0, ddof=1)


def curve(
    axis: Axes, rows: pd.DataFrame, against: str, colour: object, marker: str, label: str
) -> None:
    """Draw the mean distance, one deviation above it, and what is predicted, against a column."""
    at = rows[against]
    style.curve(axis, at, rows["ckl"], colour, marker, label)
    axis.plot(at, rows["ckl"] + rows["sd"], ":", color=colour)
    axis.plot(at, rows["predicted"], "--", color=colour, linewidth=1)
