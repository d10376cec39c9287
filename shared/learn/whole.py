"""The last word: structures compared by the likelihood of whole records.

The tables of single families leave out what the rest of a record tells of variables reported with
noise. Where whole records can be maximized (`Marginals.explanation`), a structure is improved once
more by their likelihood, with the same penalty of (log N)/2 per parameter. All structures are then
compared on one table.
"""

from __future__ import annotations

import math

from shared.counts import Explanation, Marginals, Tensor
from shared.errors import LimitExceeded
from shared.learn.resampling import stream
from shared.learn.scores import Judge, value_of
from shared.learn.search import OnStep, Parents, Reach, candidates, identity

UNSURE = 8.0
"""Moves that their own table calls worse by more nats are not asked of whole records."""

LEAST_GAIN = 0.05
"""A gain of fewer nats is within the accuracy of the maximization and counts as none."""


class WholeRecords:
    """Scores of structures by the likelihood of whole records; each is maximized once."""

    def __init__(self, marginals: Marginals):
        self._marginals = marginals
        self._scores: dict[frozenset[tuple[str, str]], float] = {}

    def score(self, parents: Parents) -> float:
        """Return the score of a structure in nats."""
        key = identity(parents)
        if key not in self._scores:
            explained = self._explained(parents)
            self._scores[key] = explained.log_likelihood - self._penalty(explained)
        return self._scores[key]

    def better(self, first: Parents, second: Parents) -> float:
        """Return how much better, in nats, one structure is than another."""
        return self.score(first) - self.score(second)

    def gain(self, parents: Parents, parent: str, child: str) -> float:
        """Return what a link of a structure is worth."""
        return self.score(parents) - self.score(_without(parents, parent, child))

    def resampled(self, parents: Parents, parent: str, child: str, draws: int, seed: int) -> Tensor:
        """Return a link's gain in each of some bootstrap samples of the records, shape (draws,)."""
        worth: list[Tensor] = []
        for structure in (parents, _without(parents, parent, child)):
            explained = self._explained(structure)
            # Both see the same samples.
            likelihoods = explained.resampled(draws, stream(seed))
            worth.append(likelihoods - self._penalty(explained))
        return worth[0] - worth[1]

    def _explained(self, parents: Parents) -> Explanation:
        explained = self._marginals.explanation(parents)
        if explained is None:
            raise LimitExceeded(
                "Whole records are of too many kinds for a network's likelihood.",
                remedy="Compare families instead.",
            )
        return explained

    def _penalty(self, explained: Explanation) -> float:
        return math.log(self._marginals.records) / 2 * explained.parameters


def whole_records(marginals: Marginals) -> WholeRecords | None:
    """Return the scores of structures over all variables; None where they cannot be maximized."""
    alone: Parents = {name: frozenset() for name in marginals.domain.names}
    return None if marginals.explanation(alone) is None else WholeRecords(marginals)


def improve(
    whole: WholeRecords, judge: Judge, parents: Parents, reach: Reach, on_step: OnStep
) -> Parents:
    """Take the move that gains most by whole records until none gains."""
    steps = 0
    while True:
        best, gain = parents, LEAST_GAIN
        for candidate in candidates(judge, parents, reach, {identity(parents)}):
            on_step(steps, steps + 1)
            if value_of(candidate.gain) < -UNSURE:
                continue
            changed = candidate.choice.apply(parents)
            more = whole.score(changed) - whole.score(parents)
            if more > gain:
                best, gain = changed, more
        if best is parents:
            return parents
        parents = best
        steps += 1


def _without(parents: Parents, parent: str, child: str) -> Parents:
    return {**parents, child: parents[child] - {parent}}
