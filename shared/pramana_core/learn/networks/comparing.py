"""Comparing two structures by the likelihood of the reports on one table.

Gains of links are each scored on a table of their own, and need not agree on two structures: a
larger table says more about variables that are reported with noise. So two structures are compared
on one table: of all variables where that can be maximized (`Marginals.explanation`), else of the
variables whose parents differ and their parents, with the links that both structures have between
them. The penalty is (log N)/2 per parameter.
"""

from __future__ import annotations

import math

from pramana_core.learn.networks.moves import Parents, identity
from pramana_core.learn.networks.searches import Better
from pramana_core.marginals.counts import Marginals


def on_one_table(marginals: Marginals, otherwise: Better) -> Better:
    """Return a comparison of structures on one table.

    Args:
        marginals: exact or estimated counts.
        otherwise: the comparison where that table is too large.
    """
    scores: dict[tuple[frozenset[str], frozenset[tuple[str, str]]], float | None] = {}

    def score(parents: Parents) -> float | None:
        key = (frozenset(parents), identity(parents))
        if key not in scores:
            explained = marginals.explanation(parents)
            scores[key] = None
            if explained is not None:
                penalty = math.log(marginals.records) / 2 * explained.parameters
                scores[key] = explained.log_likelihood - penalty
        return scores[key]

    def better(first: Parents, second: Parents) -> float:
        if first == second:
            return 0.0
        for nodes in (frozenset(first), concerned(first, second)):
            values = [score(within(parents, nodes)) for parents in (first, second)]
            if values[0] is not None and values[1] is not None:
                return values[0] - values[1]
        return otherwise(first, second)

    return better


def concerned(first: Parents, second: Parents) -> frozenset[str]:
    """Return the variables whose parents differ, and their parents."""
    changed = {node for node in first if first[node] != second[node]}
    return frozenset(changed).union(*(first[node] | second[node] for node in changed))


def within(parents: Parents, nodes: frozenset[str]) -> Parents:
    """Return the links of a structure between some variables."""
    return {node: given & nodes for node, given in parents.items() if node in nodes}
