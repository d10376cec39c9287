"""Discrete Bayesian networks as values: tables, exact marginals, samples and divergences.

Also here:

* Questions to a Bayesian network: the distribution of some nodes, given what is known of others.
* What a Bayesian network says of records: how likely each is, and what it does not show.
* Synthetic records: drawn from a network and written with their categories' names.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from pramana_core.alike import did_you_mean
from pramana_core.csv_text import csv_cell, csv_line
from pramana_core.domain import Domain
from pramana_core.errors import (
    ChannelError,
    DomainError,
    LimitExceeded,
    OptionError,
    UnknownVariable,
)
from pramana_core.learn.common.documents import stream
from pramana_core.learn.networks.structure import Structure
from pramana_core.marginals.counts import Codes, Tensor

MARGINAL_LIMIT = 1 << 24
"""Cells of the largest intermediate table allowed when a marginal is computed."""

_ROW_SUM_TOLERANCE = 1e-9


@dataclass(frozen=True, eq=False)
class BayesNet:
    """A structure with a conditional probability table per node.

    `tables[node]` has the shape (parents' sizes..., node's size) and its last axis sums to 1.

    Raises:
        UnknownVariable: a node that is not in the domain.
        DomainError: a table of the wrong shape.
        ChannelError: a table row that is not a distribution.
    """

    domain: Domain
    structure: Structure
    tables: Mapping[str, Tensor]

    def __post_init__(self) -> None:
        for node, parents in self.structure.families:
            shape = self.domain.project([*parents, node]).shape
            table = self.tables.get(node)
            if table is None or table.shape != shape:
                raise DomainError(
                    f"The table of node {node!r} has shape {None if table is None else table.shape}"
                    f"; its parents and categories ask for {shape}.",
                    where=node,
                )
            off = np.abs(table.sum(axis=-1) - 1).max()
            if table.min() < 0 or not off <= _ROW_SUM_TOLERANCE:
                raise ChannelError(
                    f"A row of the table of node {node!r} is negative or sums to 1 only within"
                    f" {off:.3g}.",
                    where=node,
                )

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {node: number for number, node in enumerate(self.structure.nodes)}

    def marginal(self, names: Sequence[str]) -> Tensor:
        """Return the exact joint distribution of some nodes, axes in that order.

        Raises:
            UnknownVariable: a name that is not a node.
            LimitExceeded: see `eliminate`.
        """
        for name in names:
            if name not in self._numbers:
                meant = did_you_mean([name], self._numbers)
                raise UnknownVariable(f"The network has no node {name!r}{meant}.", where=name)
        joint: Tensor = eliminate(self, tuple(names), {}, 1)[0][0]
        return joint

    def ancestors(self, names: Sequence[str]) -> set[str]:
        """Return some nodes and all that lead to them."""
        found: set[str] = set()
        pending = list(names)
        while pending:
            node = pending.pop()
            if node not in found:
                found.add(node)
                pending.extend(self.structure.parents[node])
        return found

    def sample(self, records: int, rng: np.random.Generator) -> dict[str, Codes]:
        """Draw records from the network, parents before children.

        Returns:
            int64-compatible unsigned codes of length `records` by node, in the structure's order.
        """
        drawn: dict[str, Codes] = {}
        for node in self.structure.order:
            parents = self.structure.parents[node]
            rows = self.tables[node][tuple(drawn[p] for p in parents)]
            bounds = np.cumsum(rows, axis=-1)[..., :-1]
            u = rng.random(records)
            drawn[node] = (u[:, None] >= bounds).sum(axis=-1, dtype=np.uint32)
        return {node: drawn[node] for node in self.structure.nodes}


def families(network: BayesNet) -> Iterator[tuple[str, list[str]]]:
    """Yield each node with its family: its parents and then itself."""
    for node, parents in network.structure.families:
        yield node, [*parents, node]


def cross_entropy(reference: BayesNet, model: BayesNet) -> float:
    """Return -sum_x p(x) ln q(x) in nats, with p the reference and q the model.

    Computed family by family of the model from exact marginals of the reference. Infinite where
    the model excludes what the reference allows.

    Raises:
        DomainError: the networks have different nodes, or one node has other categories.
    """
    if set(reference.structure.nodes) != set(model.structure.nodes):
        raise DomainError(
            f"The networks have different nodes: {sorted(reference.structure.nodes)} and"
            f" {sorted(model.structure.nodes)}."
        )
    for node in model.structure.nodes:
        if reference.domain[node] != model.domain[node]:
            raise DomainError(
                f"The networks give node {node!r} different categories, or in another order.",
                where=node,
            )
    total = 0.0
    for node, names in families(model):
        weight = reference.marginal(names)
        table = model.tables[node]
        seen = weight > 0
        if np.any(table[seen] <= 0):
            return math.inf
        total -= float(np.sum(weight[seen] * np.log(table[seen])))
    return total


def kl_divergence(reference: BayesNet, model: BayesNet) -> float:
    """Return KL(reference || model) in nats: cross-entropy less the reference's entropy."""
    return max(0.0, cross_entropy(reference, model) - cross_entropy(reference, reference))


# Questions to a Bayesian network: the distribution of some nodes, given what is known of others.


@dataclass(frozen=True, eq=False)
class Posterior:
    """The joint distribution of the nodes asked for, given the evidence.

    Attributes:
        domain: the nodes asked for, in the order of the question.
        evidence: the category that each known node was given to have.
        probabilities: shape `domain.shape`; sums to 1.
        evidence_probability: how probable the network holds the evidence itself; 1 without any.
    """

    domain: Domain
    evidence: Mapping[str, str]
    probabilities: Tensor
    evidence_probability: float

    def rows(self) -> Iterator[tuple[dict[str, str], float]]:
        """Yield the category of every node and the probability, the last node fastest."""
        for cell in np.ndindex(*self.domain.shape):
            labels = {v.name: v.categories[i] for v, i in zip(self.domain, cell, strict=True)}
            yield labels, float(self.probabilities[cell])


def posterior(
    network: BayesNet, query: Sequence[str], evidence: Mapping[str, str] | None = None
) -> Posterior:
    """Return P(query | evidence), jointly over all nodes of the query.

    Args:
        network: the network to ask.
        query: the names of one or more nodes.
        evidence: category by node; nodes that do not matter to the query may be among them.

    Raises:
        UnknownVariable: a node that the network does not have.
        UnknownCategory: evidence that its node cannot show.
        OptionError: an empty query, a node asked for twice, a node both asked for and known, or
            evidence that has probability zero in this network.
        LimitExceeded: see `eliminate`.
    """
    known = dict(evidence or {})
    nodes = network.domain.project(network.structure.nodes)
    _require_question(list(query), known)
    asked = nodes.project(query)
    codes = {name: np.array([nodes[name].code(label)]) for name, label in known.items()}
    shares, logs = eliminate(network, tuple(query), codes, 1)
    if np.isneginf(logs[0]):
        said = ", ".join(f"{name}={label}" for name, label in known.items())
        raise OptionError(
            f"In this network {said} has probability zero; nothing follows from it.",
            where=", ".join(known),
            remedy="Leave out or change part of what is given.",
        )
    return Posterior(asked, known, shares[0], math.exp(logs[0]))


def _require_question(query: list[str], known: Mapping[str, str]) -> None:
    if not query:
        raise OptionError("The question names no node to ask for.", where="of")
    twice = sorted({name for name in query if query.count(name) > 1})
    if twice:
        raise OptionError(f"The question names {twice} twice.", where=", ".join(twice))
    both = [name for name in query if name in known]
    if both:
        raise OptionError(
            f"{both} are both asked for and given.",
            where=", ".join(both),
            remedy="Ask for other nodes, or do not give these.",
        )


# What a Bayesian network says of records: how likely each is, and what it does not show.
#
# Records may lack nodes: those are summed out, exactly, by eliminating variables (Zhang and Poole
# 1994). All records that lack the same nodes are done at once.


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
        shares[rows], logs[rows] = eliminate(network, asked, known, len(rows))
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


def eliminate(
    network: BayesNet, keep: tuple[str, ...], known: Mapping[str, _Rows], records: int
) -> tuple[Tensor, Tensor]:
    """Sum out all nodes but some, given what each record shows of others.

    Args:
        network: the network.
        keep: nodes, each once.
        known: codes of other nodes, (records,) each.
        records: how many.

    Returns:
        the joint distribution of `keep` for each record, shape (records, nodes' sizes...), NaN for
        what is impossible; and the log-probability of what is known, (records,).

    Raises:
        LimitExceeded: a table would have more than `MARGINAL_LIMIT` cells.
    """
    relevant = network.ancestors([*known, *keep])
    order, widest = _order(network, relevant, known, relevant - {*known, *keep})
    widest = max(widest, network.domain.project(keep).size)
    if widest > MARGINAL_LIMIT:
        raise LimitExceeded(
            f"To answer this exactly takes tables of {widest} cells; {MARGINAL_LIMIT} are allowed.",
            where="of",
            remedy="Ask for fewer nodes at once, give more of the others, or sample the network.",
        )
    most = max(1, AT_ONCE // widest)
    parts = [slice(start, min(records, start + most)) for start in range(0, records, most)]
    found = [
        _summed(_factors(network, relevant, known, part), order, keep, part.stop - part.start)
        for part in parts
    ]
    shares, logs = zip(*found, strict=True)
    return np.concatenate(shares), np.concatenate(logs)


def _order(
    network: BayesNet, relevant: set[str], known: Mapping[str, _Rows], free: set[str]
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


_Factor = tuple[Tensor, list[str]]
"""A table of each record, (records, sizes...), and the nodes of its axes."""


def _factors(
    network: BayesNet, relevant: set[str], known: Mapping[str, _Rows], part: slice
) -> list[_Factor]:
    """Return the tables of some nodes, each at what records show."""
    factors: list[_Factor] = []
    for node in sorted(relevant):
        scope = [*network.structure.parents[node], node]
        seen = [axis for axis, name in enumerate(scope) if name in known]
        # In one order in memory, so that sums round alike whoever made the table.
        table = np.moveaxis(np.ascontiguousarray(network.tables[node]), seen, range(len(seen)))
        rows = table[tuple(known[scope[axis]][part] for axis in seen)]
        if not seen:
            rows = np.broadcast_to(rows, (part.stop - part.start, *rows.shape))
        factors.append((rows, [name for name in scope if name not in known]))
    return factors


def _summed(
    factors: list[_Factor], order: Sequence[str], keep: tuple[str, ...], records: int
) -> tuple[Tensor, Tensor]:
    """Sum the product of factors over nodes in an order; see `eliminate`."""
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
        # Logarithms: many factors of what is kept may make a product too small for a number.
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
    """Return a factor with an axis for each name, of length 1 for those it does not depend on."""
    table, scope = factor
    ordered = np.transpose(table, [0, *(1 + scope.index(n) for n in names if n in scope)])
    return np.expand_dims(ordered, tuple(1 + i for i, n in enumerate(names) if n not in scope))


def _multiplied(factors: Sequence[_Factor], names: list[str]) -> Tensor:
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


# Synthetic records: drawn from a network and written with their categories' names.


CHUNK = 1 << 14
"""Records drawn at a time; part of what a seed means, like the order of the nodes."""


def sample_csv(network: BayesNet, records: int, seed: int) -> Iterator[str]:
    """Return synthetic records as CSV, piece by piece; first the header.

    Raises:
        OptionError: no records, or a negative seed.
    """
    nodes = network.structure.nodes
    chunks = sample_chunks(network, records, seed)
    words = {
        name: np.array([csv_cell(c) for c in network.domain[name].categories], dtype=object)
        for name in nodes
    }

    def pieces() -> Iterator[str]:
        yield csv_line(map(csv_cell, nodes))
        for chunk in chunks:
            rows = zip(*(words[name][chunk[name]] for name in nodes), strict=True)
            yield "".join(map(csv_line, rows))

    return pieces()


def sample_chunks(network: BayesNet, records: int, seed: int) -> Iterator[dict[str, Codes]]:
    """Return the codes of synthetic records, `CHUNK` records at a time.

    Raises:
        OptionError: no records, or a negative seed.
    """
    if records < 1:
        raise OptionError(f"records must be at least 1, not {records}.", where="records")
    if seed < 0:
        raise OptionError(f"seed must be 0 or more, not {seed}.", where="seed")
    rng = stream(seed)
    starts = range(0, records, CHUNK)
    return (network.sample(min(CHUNK, records - start), rng) for start in starts)
