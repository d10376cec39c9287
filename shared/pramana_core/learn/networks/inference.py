"""Exact inference in a Bayesian network, for one question or many records, by elimination."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from pramana_core.domain import Domain
from pramana_core.errors import LimitExceeded, OptionError
from pramana_core.learn.networks.structure import Structure
from pramana_core.marginals.counts import Codes, Tensor

MARGINAL_LIMIT = 1 << 24
"""The most cells of a table of one record."""

AT_ONCE = 1 << 22
"""The most cells of the tables of all records that are computed at once."""


class Network(Protocol):
    """The parts of a `BayesNet` that inference uses."""

    @property
    def domain(self) -> Domain: ...

    @property
    def structure(self) -> Structure: ...

    @property
    def tables(self) -> Mapping[str, Tensor]: ...


_Codes = Mapping[str, npt.NDArray[np.int64]]

_Factor = tuple[Tensor, list[str]]
"""A table for each record, (records, sizes...), and the nodes of its further axes."""


@dataclass(frozen=True, eq=False)
class Posterior:
    """The joint distribution of some nodes, given the evidence.

    Attributes:
        domain: the queried nodes, in the order of the query.
        probabilities: shape `domain.shape`; sums to 1.
        evidence_probability: of the evidence; 1 without any.
    """

    domain: Domain
    probabilities: Tensor
    evidence_probability: float

    def rows(self) -> Iterator[tuple[dict[str, str], float]]:
        """Yield the category of every node and the probability, the last node fastest."""
        for cell in np.ndindex(*self.domain.shape):
            labels = {v.name: v.categories[i] for v, i in zip(self.domain, cell, strict=True)}
            yield labels, float(self.probabilities[cell])


def posterior(
    network: Network, query: Sequence[str], evidence: Mapping[str, str] | None = None
) -> Posterior:
    """Return P(query | evidence), jointly over all nodes of the query.

    Args:
        network: the network.
        query: the names of one or more nodes.
        evidence: category by node.

    Raises:
        UnknownVariable, UnknownCategory: a node or category that the network does not have.
        OptionError: an empty query, a node in it twice or also in the evidence, or evidence of
            probability zero.
        LimitExceeded: see `posteriors`.
    """
    known = dict(evidence or {})
    nodes = network.domain.project(network.structure.nodes)
    if both := [name for name in query if name in known]:
        raise OptionError(
            f"{both} are both queried and given.",
            where=", ".join(both),
            remedy="Query other nodes, or do not give these.",
        )
    codes = {name: np.array([nodes[name].code(label)]) for name, label in known.items()}
    shares, logs = infer(network, query, codes or {name: np.zeros(1, int) for name in query})
    if np.isneginf(logs[0]):
        said = ", ".join(f"{name}={label}" for name, label in known.items())
        raise OptionError(
            f"{said} has probability zero in this network.",
            where=", ".join(known),
            remedy="Leave out or change part of what is given.",
        )
    return Posterior(nodes.project(query), shares[0], math.exp(logs[0]))


def log_likelihoods(network: Network, codes: Mapping[str, Codes]) -> Tensor:
    """Return the log-probability of each record, (n,) in nats; -inf where it is impossible.

    Args:
        network: the network.
        codes: n for each of one or more nodes; a code beyond a node's categories is missing.

    Raises:
        UnknownVariable: a column that is no node.
        LimitExceeded: see `posteriors`.
    """
    return _by_pattern(network, (), codes)[1]


def posteriors(network: Network, nodes: Sequence[str], codes: Mapping[str, Codes]) -> Tensor:
    """Return the joint distribution of some nodes given the other nodes of each record.

    Args:
        network: the network.
        nodes: the queried nodes, each once; their own codes are ignored.
        codes: as for `log_likelihoods`.

    Returns:
        Shape (n, nodes' sizes...), each record's sum 1; NaN where a record is impossible.

    Raises:
        OptionError: no nodes, or one twice.
        UnknownVariable: a node that the network does not have.
        LimitExceeded: a table would have more than `MARGINAL_LIMIT` cells.
    """
    return infer(network, nodes, codes)[0]


def infer(
    network: Network, nodes: Sequence[str], codes: Mapping[str, Codes]
) -> tuple[Tensor, Tensor]:
    """Return `posteriors`, and the log-probability of the other nodes of each record."""
    if not nodes or len(set(nodes)) < len(nodes):
        raise OptionError(f"Query one or more distinct nodes, not {list(nodes)}.", where="of")
    return _by_pattern(network, tuple(nodes), codes)


def _by_pattern(
    network: Network, keep: tuple[str, ...], codes: Mapping[str, Codes]
) -> tuple[Tensor, Tensor]:
    """Eliminate once for all distinct records that lack the same nodes."""
    shape = network.domain.project(keep).shape
    sizes = np.array([network.domain[name].size for name in codes])
    table = np.stack([column.astype(np.int64) for column in codes.values()], axis=1)
    table[:, [name in keep for name in codes]] = np.iinfo(np.int64).max
    distinct, where = np.unique(np.minimum(table, sizes), axis=0, return_inverse=True)
    shares, logs = np.empty((len(distinct), *shape)), np.empty(len(distinct))
    patterns, of = np.unique(distinct == sizes, axis=0, return_inverse=True)
    for number, pattern in enumerate(patterns):
        rows = np.flatnonzero(of.ravel() == number)
        known = {name: distinct[rows, i] for i, name in enumerate(codes) if not pattern[i]}
        shares[rows], logs[rows] = eliminate(network, keep, known, len(rows))
    return shares[where.ravel()], logs[where.ravel()]


def eliminate(
    network: Network, keep: tuple[str, ...], known: _Codes, records: int
) -> tuple[Tensor, Tensor]:
    """Sum out all nodes but `keep`, given the known nodes of each record (Zhang and Poole 1994).

    Args:
        network: the network.
        keep: nodes, each once.
        known: codes of other nodes, (records,) each.
        records: the number of records.

    Returns:
        the joint distribution of `keep` for each record, shape (records, nodes' sizes...), NaN for
        an impossible record; and the log-probability of the known nodes, (records,).

    Raises:
        LimitExceeded: a table would have more than `MARGINAL_LIMIT` cells.
    """
    relevant = _ancestors(network, [*known, *keep])
    order, widest = _order(network, relevant, known, relevant - {*known, *keep})
    widest = max(widest, network.domain.project(keep).size)
    if widest > MARGINAL_LIMIT:
        raise LimitExceeded(
            f"An exact answer takes tables of {widest} cells; {MARGINAL_LIMIT} are allowed.",
            where="of",
            remedy="Query fewer nodes at once, give more of the others, or sample the network.",
        )
    most = max(1, AT_ONCE // widest)
    parts = [slice(start, min(records, start + most)) for start in range(0, records, most)]
    found = [
        _summed(_factors(network, relevant, known, part), order, keep, part.stop - part.start)
        for part in parts
    ]
    shares, logs = zip(*found, strict=True)
    return np.concatenate(shares), np.concatenate(logs)


def _ancestors(network: Network, names: Sequence[str]) -> set[str]:
    """Return some nodes and all their ancestors."""
    found: set[str] = set()
    pending = list(names)
    while pending:
        node = pending.pop()
        if node not in found:
            found.add(node)
            pending.extend(network.structure.parents[node])
    return found


def _order(
    network: Network, relevant: set[str], known: _Codes, free: set[str]
) -> tuple[list[str], int]:
    """Return an order of elimination, the smallest table first, and the size of the largest."""
    scopes = [{*network.structure.parents[node], node} - set(known) for node in relevant]
    numbers = {node: place for place, node in enumerate(network.structure.nodes)}

    def cost(node: str) -> int:
        touched = set().union(*(scope for scope in scopes if node in scope))
        return math.prod(network.domain[name].size for name in touched)

    order: list[str] = []
    widest, left = 1, set(free)
    while left:
        costs = {node: cost(node) for node in left}
        node = min(left, key=lambda name: (costs[name], numbers[name]))
        widest = max(widest, costs[node])
        joined = set().union(*(scope for scope in scopes if node in scope)) - {node}
        scopes = [*(scope for scope in scopes if node not in scope), joined]
        order.append(node)
        left.remove(node)
    return order, widest


def _factors(network: Network, relevant: set[str], known: _Codes, part: slice) -> list[_Factor]:
    """Return the tables of the relevant nodes, each at the known codes."""
    factors: list[_Factor] = []
    for node in sorted(relevant):
        scope = [*network.structure.parents[node], node]
        seen = [axis for axis, name in enumerate(scope) if name in known]
        # One order in memory, so that sums round alike wherever the table comes from.
        table = np.moveaxis(np.ascontiguousarray(network.tables[node]), seen, range(len(seen)))
        rows = table[tuple(known[scope[axis]][part] for axis in seen)]
        if not seen:
            rows = np.broadcast_to(rows, (part.stop - part.start, *rows.shape))
        factors.append((rows, [name for name in scope if name not in known]))
    return factors


def _summed(
    factors: list[_Factor], order: Sequence[str], keep: tuple[str, ...], records: int
) -> tuple[Tensor, Tensor]:
    """Sum the product of factors over the nodes of `order`; see `eliminate`."""
    logs = np.zeros(records)
    scaled: list[_Factor] = []

    def add(rows: Tensor, scope: list[str]) -> None:
        nonlocal logs
        top = rows.reshape(records, -1).max(axis=1)
        with np.errstate(divide="ignore"):
            logs = logs + np.log(top)
        if scope:
            divisor = np.where(top > 0, top, 1.0).reshape(-1, *(1 for _ in scope))
            scaled.append((rows / divisor, scope))

    for rows, scope in factors:
        add(rows, scope)
    for node in order:
        touching = [factor for factor in scaled if node in factor[1]]
        scaled = [factor for factor in scaled if node not in factor[1]]
        left = sorted({name for _, scope in touching for name in scope} - {node})
        add(_multiplied(touching, left), left)
    if not keep:
        return np.ones(records), logs
    axes = tuple(range(1, 1 + len(keep)))
    with np.errstate(divide="ignore", invalid="ignore"):
        # Logarithms, for the product of many factors may underflow.
        whole = np.asarray(sum(np.log(_spread(factor, keep)) for factor in scaled))
        top = whole.max(axis=axes, keepdims=True)
        shares = np.exp(whole - top)
        total = shares.sum(axis=axes, keepdims=True)
        logs = logs + (top + np.log(total)).ravel()
        shares = shares / total
    logs = np.where(np.isnan(logs), -np.inf, logs)
    shares[~np.isfinite(logs)] = np.nan
    return shares, logs


def _spread(factor: _Factor, names: Sequence[str]) -> Tensor:
    """Return a factor with an axis for each name, of length 1 where it does not depend on it."""
    table, scope = factor
    ordered = np.transpose(table, [0, *(1 + scope.index(n) for n in names if n in scope)])
    return np.expand_dims(ordered, tuple(1 + i for i, n in enumerate(names) if n not in scope))


def _multiplied(factors: Sequence[_Factor], names: list[str]) -> Tensor:
    """Multiply factors record by record and sum out all nodes but `names`."""
    letters = {
        name: place
        for place, name in enumerate(sorted({n for _, scope in factors for n in scope}), start=1)
    }
    operands: list[object] = []
    for table, scope in factors:
        operands += [table, [0, *(letters[name] for name in scope)]]
    product: Tensor = np.einsum(*operands, [0, *(letters[n] for n in names)], optimize="greedy")  # type: ignore[call-overload]
    return product
