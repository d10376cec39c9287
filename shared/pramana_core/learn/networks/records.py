"""What a Bayesian network says of records: how likely each is, and what it does not show.

Records may lack nodes: those are summed out, exactly, by eliminating variables (Zhang and Poole
1994). All records that lack the same nodes are done at once.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from pramana_core.errors import LimitExceeded, OptionError
from pramana_core.learn.networks.network import MARGINAL_LIMIT, BayesNet
from pramana_core.marginals.counts import Codes, Tensor

AT_ONCE = 1 << 22
"""Cells of the largest table for so many records as are done at once."""

_Rows = npt.NDArray[np.int64]


def log_likelihoods(network: BayesNet, codes: Mapping[str, Codes]) -> Tensor:
    """Return the log-probability of each record, (n,) in nats; -inf where it is impossible.

    Args:
        network: the network.
        codes: n of each of one or more nodes; a code beyond a node's categories is missing.

    Raises:
        UnknownVariable: a column that is no node.
        LimitExceeded: what is missing cannot be summed out in tables of `MARGINAL_LIMIT` cells.
    """
    return _answer(network, (), codes)[1]


def posteriors(network: BayesNet, nodes: Sequence[str], codes: Mapping[str, Codes]) -> Tensor:
    """Return the joint distribution of some nodes given the others of each record.

    Args:
        network: the network.
        nodes: those asked for, each once; what records show of them is not looked at.
        codes: as for `log_likelihoods`; at least one column.

    Returns:
        Shape (n, nodes' sizes...), each record's sum 1; NaN where a record is impossible.

    Raises:
        OptionError: no nodes, or one twice.
        UnknownVariable, LimitExceeded: as `log_likelihoods`.
    """
    if not nodes or len(set(nodes)) < len(nodes):
        raise OptionError(f"Ask for distinct nodes, not {list(nodes)}.", where="nodes")
    return _answer(network, tuple(nodes), codes)[0]


def _answer(
    network: BayesNet, asked: tuple[str, ...], codes: Mapping[str, Codes]
) -> tuple[Tensor, Tensor]:
    shape = network.domain.project(asked).shape
    sizes = np.array([network.domain[name].size for name in codes])
    table = np.stack([column.astype(np.int64) for column in codes.values()], axis=1)
    table[:, [name in asked for name in codes]] = np.iinfo(np.int64).max
    table = np.minimum(table, sizes)
    first, where = _distinct(table, sizes)
    distinct = table[first]
    shares, logs = np.empty((len(distinct), *shape)), np.empty(len(distinct))
    patterns, of = np.unique(distinct == sizes, axis=0, return_inverse=True)
    for number, pattern in enumerate(patterns):
        rows = np.flatnonzero(of.ravel() == number)
        known = {name: distinct[rows, i] for i, name in enumerate(codes) if not pattern[i]}
        shares[rows], logs[rows] = _of_pattern(network, asked, known, len(rows))
    return shares[where], logs[where]


def _distinct(table: _Rows, sizes: _Rows) -> tuple[_Rows, _Rows]:
    """Return the first of each row of codes, all at most their size, and which one each row is."""
    key, span = np.zeros(len(table), dtype=np.int64), 1
    for column, size in zip(table.T, sizes.tolist(), strict=True):
        if span * (size + 1) >= 1 << 62:
            found, key = np.unique(key, return_inverse=True)
            span = len(found)
        key, span = key * (size + 1) + column, span * (size + 1)
    _, first, where = np.unique(key, return_index=True, return_inverse=True)
    return first, where


def _of_pattern(
    network: BayesNet, asked: tuple[str, ...], known: Mapping[str, _Rows], records: int
) -> tuple[Tensor, Tensor]:
    """Answer records that lack the same nodes."""
    relevant = network.ancestors([*known, *asked])
    free = {name for name in relevant if name not in known and name not in asked}
    order, widest = _order(network, relevant, known, free)
    widest = max(widest, network.domain.project(asked).size)
    if widest > MARGINAL_LIMIT:
        raise LimitExceeded(
            f"What records lack is summed out in tables of {widest} cells; {MARGINAL_LIMIT} are"
            " allowed.",
            remedy="Give more of the columns, or ask for fewer nodes at once.",
        )
    parts = list(_chunks(records, max(1, AT_ONCE // widest)))
    found = []
    for part in parts:
        here = {name: column[part] for name, column in known.items()}
        found.append(_Product.of(network, relevant, here, part.stop - part.start).sum(order, asked))
    shares, logs = zip(*found, strict=True)
    return np.concatenate(shares), np.concatenate(logs)


def _order(
    network: BayesNet, relevant: set[str], known: Mapping[str, _Rows], free: set[str]
) -> tuple[list[str], int]:
    """Return an order of elimination, the smallest table first, and the size of the largest."""
    families = (network.structure.parents[node] for node in relevant)
    scopes = [
        {*parents, node} - set(known) for node, parents in zip(relevant, families, strict=True)
    ]
    numbers = {node: place for place, node in enumerate(network.structure.nodes)}
    order: list[str] = []
    widest, left = 1, set(free)
    while left:
        costs = {node: _cost(network, node, scopes) for node in left}
        node = min(left, key=lambda name: (costs[name], numbers[name]))
        widest = max(widest, costs[node])
        joined = set().union(*(scope for scope in scopes if node in scope)) - {node}
        scopes = [*(scope for scope in scopes if node not in scope), joined]
        order.append(node)
        left.remove(node)
    return order, widest


def _cost(network: BayesNet, node: str, scopes: Sequence[set[str]]) -> int:
    """Return the cells of the table that the elimination of a node takes."""
    touched = set().union(*(scope for scope in scopes if node in scope))
    return math.prod(network.domain[name].size for name in touched)


def _chunks(records: int, most: int) -> Iterator[slice]:
    for start in range(0, records, most):
        yield slice(start, min(records, start + most))


@dataclass
class _Product:
    """Factors of (records, nodes...), whose product is wanted; `logs` is what was taken out."""

    records: int
    logs: Tensor
    factors: list[tuple[Tensor, list[str]]] = field(default_factory=list)

    @classmethod
    def of(
        cls, network: BayesNet, relevant: set[str], known: Mapping[str, _Rows], records: int
    ) -> _Product:
        """Return the tables of some nodes, each at what records show."""
        made = cls(records, np.zeros(records))
        for node in sorted(relevant):
            scope = [*network.structure.parents[node], node]
            seen = [axis for axis, name in enumerate(scope) if name in known]
            # In one order in memory, so that sums round alike whoever made the table.
            table = np.moveaxis(np.ascontiguousarray(network.tables[node]), seen, range(len(seen)))
            rows = table[tuple(known[scope[axis]] for axis in seen)]
            if not seen:
                rows = np.broadcast_to(rows, (records, *rows.shape))
            made.add(rows, [name for name in scope if name not in known])
        return made

    def add(self, rows: Tensor, scope: list[str]) -> None:
        """Take a factor in, its largest entry of each record taken out."""
        top = rows.reshape(self.records, -1).max(axis=1)
        with np.errstate(divide="ignore"):
            self.logs += np.log(top)
        if scope:
            divisor = np.where(top > 0, top, 1.0).reshape(-1, *(1 for _ in scope))
            self.factors.append((rows / divisor, scope))

    def sum(self, order: Sequence[str], asked: tuple[str, ...]) -> tuple[Tensor, Tensor]:
        """Sum the product over nodes, in that order; return shares of those asked, and its log."""
        for node in order:
            touching = [factor for factor in self.factors if node in factor[1]]
            self.factors = [factor for factor in self.factors if node not in factor[1]]
            left = sorted({name for _, scope in touching for name in scope} - {node})
            self.add(_multiplied(touching, left), left)
        if not asked:
            return np.ones(self.records), self.logs
        whole = _multiplied(self.factors, list(asked))
        axes = tuple(range(1, whole.ndim))
        total = whole.sum(axis=axes, keepdims=True)
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = self.logs + np.log(total.ravel())
            shares = whole / total
        shares[~np.isfinite(logs)] = np.nan
        return shares, logs


def _multiplied(factors: Sequence[tuple[Tensor, list[str]]], names: list[str]) -> Tensor:
    """Multiply factors record by record and sum out all but `names`."""
    letters = {
        name: place
        for place, name in enumerate(sorted({n for _, scope in factors for n in scope}), start=1)
    }
    operands: list[object] = []
    for table, scope in factors:
        operands += [table, [0, *(letters[name] for name in scope)]]
    product: Tensor = np.einsum(*operands, [0, *(letters[n] for n in names)], optimize="greedy")  # type: ignore[call-overload]
    return product
