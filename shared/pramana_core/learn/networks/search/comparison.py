"""Comparing structures by the likelihood of records on one table.

Gains of single links are each of a table of their own, and what they say of two structures need not
agree: the more of a record a table has, the more it tells of what is reported with noise. So two
structures are compared on one table: of all variables where that can be maximized
(`Marginals.explanation`), else of those whose families differ and of their parents, between which
both structures keep the links they have; with the same penalty of (log N)/2 per parameter.
"""

from __future__ import annotations

import math

from pramana_core.learn.networks.search.choice import Parents, identity
from pramana_core.learn.networks.search.searches import Better
from pramana_core.marginals.counts import Marginals


def on_one_table(marginals: Marginals, otherwise: Better) -> Better:
    """Return what compares structures over all variables.

    Args:
        marginals: what explains the records.
        otherwise: what compares structures whose differences concern too large a table.
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
    """Return the variables whose parents differ, and all those parents."""
    changed = {node for node in first if first[node] != second[node]}
    return frozenset(changed).union(*(first[node] | second[node] for node in changed))


def within(parents: Parents, nodes: frozenset[str]) -> Parents:
    """Return a structure's links between some variables."""
    return {node: given & nodes for node, given in parents.items() if node in nodes}
