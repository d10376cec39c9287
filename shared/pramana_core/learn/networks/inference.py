"""Exact inference by variable elimination, in Bayesian networks and in products of factors."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from pramana_core.domain import Domain
from pramana_core.errors import LimitExceeded, OptionError
from pramana_core.learn.networks.structure import Structure
from pramana_core.marginals.counts import Codes, Tensor

MARGINAL_LIMIT = 1 << 24
"""The maximum number of cells of a table that inference computes for one record."""

AT_ONCE = 1 << 22
"""The maximum number of cells of all tables that are computed at the same time."""


class Network(Protocol):
    """The parts of a `BayesNet` that inference needs."""

    @property
    def domain(self) -> Domain: ...

    @property
    def structure(self) -> Structure: ...

    @property
    def tables(self) -> Mapping[str, Tensor]: ...


_Codes = Mapping[str, npt.NDArray[np.int64]]

Factor = tuple[Tensor, list[str]]
"""A table for each record, (records, sizes...), and the nodes of all axes after the first."""


def infer(
    network: Network, nodes: Sequence[str], codes: Mapping[str, Codes]
) -> tuple[Tensor, Tensor]:
    """Return the joint distribution of `nodes` given the other nodes, for each record.

    `codes` has n codes for each of one or more nodes; codes beyond the node's categories are
    missing.

    Returns:
        the distributions, (n, nodes' sizes...), which are NaN for an impossible record; and the
        log-probability in nats of the other nodes of each record, (n,).

    Raises OptionError, UnknownVariable: a repeated or unknown node. LimitExceeded: a table would
    have more than `MARGINAL_LIMIT` cells.
    """
    keep = tuple(nodes)
    if len(set(keep)) < len(keep):
        raise OptionError(
            f"The queried nodes must be one or more distinct nodes, not {list(nodes)}.", where="of"
        )
    shape = network.domain.project(keep).shape
    sizes = np.array([network.domain[name].size for name in codes])
    table = np.stack([column.astype(np.int64) for column in codes.values()], axis=1)
    table[:, [name in keep for name in codes]] = np.iinfo(np.int64).max
    distinct, where = _distinct(np.minimum(table, sizes), [size + 1 for size in sizes.tolist()])
    shares, logs = np.empty((len(distinct), *shape)), np.empty(len(distinct))
    patterns, of = np.unique(distinct == sizes, axis=0, return_inverse=True)
    for number, pattern in enumerate(patterns):
        rows = np.flatnonzero(of.ravel() == number)
        known = {name: distinct[rows, i] for i, name in enumerate(codes) if not pattern[i]}
        shares[rows], logs[rows] = eliminate(network, keep, known, len(rows))
    return shares[where], logs[where]


def _distinct(
    rows: npt.NDArray[np.int64], sizes: Sequence[int]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.intp]]:
    """Return the distinct rows in order, and the index of each row among them."""
    # Whole numbers are sorted several times as fast as rows.
    number, span = np.zeros(len(rows), np.int64), 1
    for column, size in zip(rows.T, sizes, strict=True):
        if span * size >= 1 << 63:
            number, span = np.unique(number, return_inverse=True)[1], len(rows)
        number, span = number * size + column, span * size
    _, first, where = np.unique(number, return_index=True, return_inverse=True)
    return rows[first], where


def eliminate(
    network: Network, keep: tuple[str, ...], known: _Codes, records: int
) -> tuple[Tensor, Tensor]:
    """Return what `infer` returns, for records in which the same nodes `known` have codes."""
    relevant = _ancestors(network, [*known, *keep])
    scopes = [{*network.structure.parents[node], node} - set(known) for node in relevant]
    nodes = network.structure.nodes
    sizes = {name: network.domain[name].size for name in nodes}
    free = [name for name in nodes if name in relevant and name not in {*known, *keep}]
    order, widest = elimination_order(scopes, sizes, free)
    widest = max(widest, network.domain.project(keep).size)
    if widest > MARGINAL_LIMIT:
        raise LimitExceeded(
            f"An exact answer needs a table of {widest} cells; the limit is {MARGINAL_LIMIT}.",
            where="of",
            remedy="Query fewer nodes, give the values of more other nodes, or sample the network.",
        )
    most = max(1, AT_ONCE // widest)
    parts = [slice(start, min(records, start + most)) for start in range(0, records, most)]
    results = [
        sum_out(_factors(network, relevant, known, part), order, keep, part.stop - part.start)
        for part in parts
    ]
    shares, logs = zip(*results, strict=True)
    return np.concatenate(shares), np.concatenate(logs)


def _ancestors(network: Network, names: Sequence[str]) -> set[str]:
    seen: set[str] = set()
    pending = list(names)
    while pending:
        node = pending.pop()
        if node not in seen:
            seen.add(node)
            pending.extend(network.structure.parents[node])
    return seen


def elimination_order(
    scopes: Sequence[Collection[str]], sizes: Mapping[str, int], free: Sequence[str]
) -> tuple[list[str], int]:
    """Return an order in which to sum out the nodes `free`, and the largest number of cells. Each
    step takes the node that leads to the smallest table."""
    tables, left = [set(scope) for scope in scopes], list(free)
    order: list[str] = []
    widest = 1
    while left:
        joined = {node: set().union(*(s for s in tables if node in s)) for node in left}
        costs = {node: math.prod(sizes[name] for name in names) for node, names in joined.items()}
        node = min(left, key=costs.__getitem__)
        widest = max(widest, costs[node])
        tables = [*(s for s in tables if node not in s), joined[node] - {node}]
        order.append(node)
        left.remove(node)
    return order, widest


def _factors(network: Network, relevant: set[str], known: _Codes, part: slice) -> list[Factor]:
    factors: list[Factor] = []
    for node in sorted(relevant):
        scope = [*network.structure.parents[node], node]
        seen = [axis for axis, name in enumerate(scope) if name in known]
        # One memory order, so that sums round alike whatever the origin of the table.
        table = np.moveaxis(np.ascontiguousarray(network.tables[node]), seen, range(len(seen)))
        rows = table[tuple(known[scope[axis]][part] for axis in seen)]
        if not seen:
            rows = np.broadcast_to(rows, (part.stop - part.start, *rows.shape))
        factors.append((rows, [name for name in scope if name not in known]))
    return factors


def sum_out(
    factors: Sequence[Factor], order: Sequence[str], keep: Sequence[str], records: int
) -> tuple[Tensor, Tensor]:
    """Sum the product of factors over the nodes of `order` (Zhang and Poole 1994).

    Returns:
        the distribution of `keep` for each record, and the logarithm of its sum before scaling.
    """
    logs = np.zeros(records)
    scaled: list[Factor] = []

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
        # By logarithms, because the product of many factors may underflow.
        whole = np.asarray(sum(np.log(_spread(factor, keep)) for factor in scaled))
        top = whole.max(axis=axes, keepdims=True)
        shares = np.exp(whole - top)
        total = shares.sum(axis=axes, keepdims=True)
        logs = logs + (top + np.log(total)).ravel()
        shares = shares / total
    logs = np.where(np.isnan(logs), -np.inf, logs)
    shares[~np.isfinite(logs)] = np.nan
    return shares, logs


def _spread(factor: Factor, names: Sequence[str]) -> Tensor:
    table, scope = factor
    ordered = np.transpose(table, [0, *(1 + scope.index(n) for n in names if n in scope)])
    return np.expand_dims(ordered, tuple(1 + i for i, n in enumerate(names) if n not in scope))


def _multiplied(factors: Sequence[Factor], names: list[str]) -> Tensor:
    letters = {
        name: place
        for place, name in enumerate(sorted({n for _, scope in factors for n in scope}), start=1)
    }
    operands: list[object] = []
    for table, scope in factors:
        operands += [table, [0, *(letters[name] for name in scope)]]
    product: Tensor = np.einsum(*operands, [0, *(letters[n] for n in names)], optimize="greedy")  # type: ignore[call-overload]
    return product
