"""Sets of variables to sample, with the probabilities that minimize the predicted loss.

The candidates are single variables, the variables of wanted tables, and sets whose number of cells
is small compared with gamma. The multiplicative algorithm of Silvey, Titterington and Torsney
(1978) finds the probabilities. They depend only on category counts, gamma and N.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from pramana_core.channels import CHOICES
from pramana_core.design.families import Build, channel_of, sampled
from pramana_core.design.goal import Goal
from pramana_core.design.pooling import Names, contrasts, information_of, kept_of, within
from pramana_core.design.predict import MODERATE, discount
from pramana_core.design.requirements import Requirements
from pramana_core.marginals.counts import Tensor
from pramana_core.plan import Plan
from pramana_core.ties import FITTED_TIE, descending, exceeds

CANDIDATES = 12_000
"""The approximate maximum number of candidate sets beyond the wanted tables."""

EXTRAS = 0.01
"""The total weight of all extra tables; the total weight of the wanted tables is 1."""

_SIZE = 6
"""The maximum number of variables in a set that is formed because it has few cells."""

_CELLS = (1.0, 2.5, 6.0)
"""The maximum number of cells of sets formed for their few cells, in units of gamma."""

_ROUNDS, _CLOSE = 300, 2e-3
_FEW = 0.1
"""A set with less than this part of an equal share is dropped, unless an interaction needs it."""

_SPREAD = 0.1
"""The share of the records that is spread equally, since the true distribution is not uniform."""

_Sets = tuple[tuple[str, ...], ...]


def mixed(goal: Goal, records: int) -> Build:
    """Return the family of sampled sets of different sizes for a goal."""

    def build(needs: Requirements) -> Plan:
        sets, weights = best_sets(needs, goal, records)
        return sampled(sets, weights)(needs)

    return build


def best_sets(needs: Requirements, goal: Goal, records: int) -> tuple[_Sets, Tensor]:
    """Return sets that cover all sensitive variables, and the probability of each set."""
    sets = candidates(needs, goal)
    search = _Search.of(needs, goal, records, sets)
    kept = search.kept(search.weights())
    chosen = tuple(sets[i] for i in kept)
    return chosen, best_weights(needs, goal, records, chosen)


def best_weights(needs: Requirements, goal: Goal, records: int, sets: _Sets) -> Tensor:
    """Return the probabilities of sets that minimize the loss of the wanted tables.

    A tenth of the records is spread equally over the sets.
    """
    weights = _Search.of(needs, goal, records, sets).weights()
    return (1 - _SPREAD) * weights + _SPREAD / len(sets)


def candidates(needs: Requirements, goal: Goal) -> _Sets:
    """Return the candidates for sampled sets, each in the domain's order."""
    place = {name: i for i, name in enumerate(needs.sensitive)}
    wanted = [tuple(n for n in names if n in place) for names in (*goal.sets, *goal.extras)]
    small = [s for s in dict.fromkeys(wanted) if 0 < len(s) <= max(2, goal.order + 1)]
    pairs = [s for s in small if len(s) == 2]
    sets: dict[tuple[str, ...], None] = {(name,): None for name in place}
    sets |= dict.fromkeys(pairs)
    sets |= dict.fromkeys(s for s in small[: 2 * CANDIDATES] if len(s) > 2)
    target = goal.target if goal.target in place else None
    for names in _packed(needs, target, CANDIDATES // 2):
        sets[tuple(sorted(names, key=place.__getitem__))] = None
    return tuple(sets)


def _packed(needs: Requirements, target: str | None, most: int) -> Iterator[tuple[str, ...]]:
    size = {name: needs.domain[name].size for name in needs.sensitive}
    limit = max(_CELLS) * needs.gamma
    listed = list(_small(size, limit, most))
    if len(listed) <= most:
        yield from listed
        return
    others = [name for name in size if name != target]
    made = 0
    for order in _orders(others):
        for multiple in _CELLS:
            for base in ((), (target,)) if target is not None else ((),):
                for names in _parts(order, base, size, multiple * needs.gamma):
                    made += 1
                    if len(names) > 2:
                        yield names
        if made >= most:
            return


def _orders(names: Sequence[str]) -> Iterator[list[str]]:
    """Yield orders in which all pairs are adjacent equally often (multiples modulo a prime)."""
    prime = next(p for p in itertools.count(len(names)) if all(p % d for d in range(2, p)))
    for turn in itertools.count():
        first, step = divmod(turn, max(1, (prime - 1) // 2))
        places = ((first + i * (step + 1)) % prime for i in range(prime))
        yield [names[place] for place in places if place < len(names)]


def _small(size: Mapping[str, int], limit: float, most: int) -> Iterator[tuple[str, ...]]:
    """Yield sets of three to `_SIZE` variables that have few cells; stop after `most` + 1 sets."""
    names = sorted(size, key=size.__getitem__)
    count = 0
    open_sets: list[tuple[tuple[int, ...], int]] = [((), 1)]
    while open_sets:
        base, cells = open_sets.pop()
        for index in range(base[-1] + 1 if base else 0, len(names)):
            grown = cells * size[names[index]]
            if exceeds(grown, limit):
                break
            now = (*base, index)
            if len(now) > 2:
                yield tuple(names[i] for i in now)
                count += 1
                if count > most:
                    return
            if len(now) < _SIZE:
                open_sets.append((now, grown))


def _parts(
    order: Iterable[str], base: Sequence[str], size: Mapping[str, int], limit: float
) -> Iterator[tuple[str, ...]]:
    """Yield sets of `base` and consecutive variables, as many as the limit on cells allows."""
    start = math.prod(size[name] for name in base)
    pack, cells = list(base), start
    for name in order:
        if len(pack) > len(base) and (exceeds(cells * size[name], limit) or len(pack) >= _SIZE):
            yield tuple(pack)
            pack, cells = list(base), start
        pack.append(name)
        cells *= size[name]
    yield tuple(pack)


@dataclass(frozen=True, eq=False)
class _Search:
    """The interactions within candidate sets and within tables, as parallel arrays.

    A report of candidate `sets[i]` gives `information[i]` about `interactions[i]`. A table's
    relative variance is the sum, over its interactions, of `terms` divided by the information of
    all records.
    """

    count: int
    needed: npt.NDArray[np.bool_]
    sets: npt.NDArray[np.intp]
    interactions: npt.NDArray[np.intp]
    information: Tensor
    tables: npt.NDArray[np.intp]
    inside: npt.NDArray[np.intp]
    terms: Tensor
    shares: Tensor

    @classmethod
    def of(
        cls,
        needs: Requirements,
        goal: Goal,
        records: int,
        sets: _Sets,
    ) -> _Search:
        known = set(needs.sensitive)
        weighed = dict(goal.shares)
        weighed |= {s: EXTRAS / len(goal.extras) for s in goal.extras}
        index: dict[Names, int] = {}
        tables, inside, terms = list[int](), list[int](), list[float]()
        for t, names in enumerate(weighed):
            order = goal.order if names in goal.shares else max(goal.order, len(names))
            scale = discount(goal, needs.domain, names) / records
            for one in within([n for n in names if n in known], order):
                tables.append(t)
                inside.append(index.setdefault(one, len(index)))
                terms.append(scale * contrasts(needs.domain, one))
        needed = np.zeros(len(index), dtype=np.bool_)
        for names in goal.sets:
            for one in within([n for n in names if n in known], goal.order):
                needed[index[one]] = True
        rows, inside_of, reported = list[int](), list[int](), list[float]()
        longest = max(map(len, index))
        for i, names in enumerate(sets):
            kept = kept_of(names, channel_of(needs, names))
            for one in within(names, longest):
                if (place := index.get(one)) is not None:
                    rows.append(i)
                    inside_of.append(place)
                    reported.append(information_of(kept, one))
        return cls(
            len(sets),
            needed,
            np.array(rows, dtype=np.intp),
            np.array(inside_of, dtype=np.intp),
            np.array(reported),
            np.array(tables, dtype=np.intp),
            np.array(inside, dtype=np.intp),
            np.array(terms),
            np.array(list(weighed.values())),
        )

    def weights(self) -> Tensor:
        """Return the probabilities that minimize the loss; they are the same on every processor."""
        weights: Tensor = np.full(self.count, 1 / self.count)
        for _ in range(_ROUNDS):
            gains = self._gains(weights)
            mean = math.fsum(weights * gains)
            if mean <= 0 or not exceeds(gains.max(), (1 + _CLOSE) * mean):
                break
            weights = weights * np.sqrt(gains / mean)
            weights /= math.fsum(weights)
        return weights

    def _gains(self, weights: Tensor) -> Tensor:
        """Return the rate at which the loss falls as the weight of each candidate rises."""
        interactions = len(self.needed)
        information = np.bincount(
            self.interactions, weights[self.sets] * self.information, interactions
        )
        # Interactions that no candidate reports are lost for any weights.
        reached = np.maximum(information, _NONE)
        each = self.terms / reached[self.inside]
        variances = np.bincount(self.tables, each, len(self.shares))
        missed = variances + MODERATE
        slopes = self.shares / (missed * np.sqrt(missed))
        lowered = np.bincount(self.inside, slopes[self.tables] * each, interactions) / reached
        return np.bincount(
            self.sets, self.information * lowered[self.interactions], self.count
        ).astype(np.float64)

    def kept(self, weights: Tensor) -> list[int]:
        """Return candidates with sufficient weight, and more until each interaction is reported."""
        # By logarithms, so that small weights are ordered, too.
        order = descending(np.log(np.maximum(weights, _LEAST)), scale=1.0, tie=FITTED_TIE)
        least = _FEW * math.fsum(weights * weights) * (1 - FITTED_TIE)
        kept = [int(i) for i in order if weights[i] >= least][: CHOICES // 2]
        entries = self._entries
        missing = self.needed.copy()
        for i in kept:
            missing[self.interactions[entries[i] : entries[i + 1]]] = False
        for i in order:
            if len(kept) >= CHOICES:
                break
            own = self.interactions[entries[i] : entries[i + 1]]
            if missing[own].any():
                kept.append(int(i))
                missing[own] = False
        return sorted(kept)

    @cached_property
    def _entries(self) -> npt.NDArray[np.intp]:
        return np.searchsorted(self.sets, np.arange(self.count + 1))


_LEAST = float(np.finfo(float).tiny)
_NONE = 1e-12
