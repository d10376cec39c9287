"""How two variables depend on each other, in functions of each that are uncorrelated.

With f_k functions of one variable and g_l of the other, of mean 0, variance 1 and uncorrelated
under their own distributions, the table of a pair is p(x) q(y) (1 + sum_kl b_kl f_k(x) g_l(y)).
Independence is b = 0; the sum of the b_kl^2 is the chi-square distance from it. Along a chain
u - w - v, u and v independent given w, the matrices multiply: b_uv = b_uw b_wv. Both can be tested
wherever pairs are told, also where no record reports three variables together.

Also here:

* Structures from pairs alone: the forest of Chow and Liu (1968), and links that it leaves out.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar

import numpy as np
from scipy.special import xlogy

from pramana_core.errors import EstimationError, SingularChannel, StructureError
from pramana_core.learn.networks.moves import CPDAG, Parents
from pramana_core.marginals.counts import Marginals, Tensor
from pramana_core.progress import Progress
from pramana_core.ties import ascending, descending, exceeds, reaches

_VARIANCES = np.concatenate([[0.0], np.geomspace(1e-6, 1.0, 61)])
"""Variances of the coefficients that are tried for the evidence; the first is independence."""

_FITTING = 50
_LEAST = 1e-12

_FLAT = 0.05
"""Correlations that noise made impossible are made so much possible."""


@dataclass(frozen=True, eq=False)
class Coefficients:
    """Estimated coefficients that are 0 under a hypothesis, with their error.

    Attributes:
        values: the estimates, flat.
        covariance: theirs, against the population.
        records: the number of records; no estimate errs less than theirs, 1 / N each.
    """

    values: Tensor
    covariance: Tensor
    records: int

    @cached_property
    def _axes(self) -> tuple[Tensor, Tensor]:
        """The variances of uncorrelated combinations of the coefficients, and these."""
        spread, turn = np.linalg.eigh((self.covariance + self.covariance.T) / 2)
        return np.maximum(spread, 1 / self.records), turn

    @cached_property
    def p_value(self) -> float:
        """Of the hypothesis, against coefficients all of one variance (Lin 1997, score test).

        The statistic weighs each combination by its precision, so that rare categories do not bury
        in their noise what frequent ones tell.
        """
        variances, turn = self._axes
        statistic = float(np.sum(np.square(turn.T @ self.values / variances)))
        return _tail(statistic, 1 / variances)

    @property
    def omnibus(self) -> float:
        """The chi-square statistic of the hypothesis, all coefficients alike."""
        variances, turn = self._axes
        return float(np.sum(np.square(turn.T @ self.values) / variances))

    @property
    def gain(self) -> float:
        """The logarithm of the evidence against the hypothesis, at least 0, in nats."""
        return float(self._gains(self.values[None])[0])

    @property
    def inflation(self) -> float:
        """How many times randomization multiplies the coefficients' variance, on average."""
        return max(1.0, float(np.trace(self.covariance)) * self.records / len(self.values))

    def resampled(self, draws: int, rng: np.random.Generator) -> Tensor:
        """Return the gain in as many samples of the coefficients, shape (draws,).

        The noise is turned by the symmetric root, which is the same whatever signs and order the
        axes were found with: those hang on the processor.
        """
        variances, turn = self._axes
        noise = rng.standard_normal((draws, len(variances)))
        return self._gains(self.values + noise @ (turn * np.sqrt(variances)) @ turn.T)

    def _gains(self, values: Tensor) -> Tensor:
        """Return the log-likelihood ratio of normal coefficients of the likeliest variance."""
        variances, turn = self._axes
        squares = np.square(values @ turn)
        logs = []
        for more in _VARIANCES:
            whole = variances + more
            logs.append(-0.5 * (np.log(whole).sum() + (squares / whole).sum(axis=1)))
        table = np.stack(logs)
        found: Tensor = table.max(axis=0) - table[0]
        return found


@dataclass(frozen=True, eq=False)
class Dependence:
    """The coefficients of a pair, a row per function of the first variable, and their error.

    `kept` is the share of them that noise leaves when it is shrunk to independence (positive-part
    rule of James and Stein), 1 for exact counts; `information` estimates the mutual information of
    the two, in nats: that of the table so shrunk.
    """

    matrix: Tensor
    covariance: Tensor
    records: int
    kept: float
    information: float

    @cached_property
    def independence(self) -> Coefficients:
        """The coefficients, all 0 if the two are independent."""
        return Coefficients(self.matrix.ravel(), self.covariance, self.records)

    @property
    def turned(self) -> Dependence:
        """The same with the second variable first."""
        rows, columns = self.matrix.shape
        order = np.arange(rows * columns).reshape(rows, columns).T.ravel()
        covariance = self.covariance[np.ix_(order, order)]
        return Dependence(self.matrix.T, covariance, self.records, self.kept, self.information)


@dataclass(frozen=True, eq=False)
class Dependences:
    """The dependence of every pair of some variables, each estimated once."""

    marginals: Marginals
    _singles: dict[str, tuple[Tensor, Tensor]] = field(default_factory=dict)
    _pairs: dict[tuple[str, str], Dependence | None] = field(default_factory=dict)

    def of(self, first: str, second: str) -> Dependence | None:
        """Return the dependence of two variables; None where no report tells of it."""
        if (first, second) not in self._pairs:
            made = self._made(first, second)
            self._pairs[first, second] = made
            self._pairs[second, first] = None if made is None else made.turned
        return self._pairs[first, second]

    def beyond(self, first: str, middles: Sequence[str], second: str) -> Coefficients | None:
        """Return what a pair has beyond what goes through some others; None where untold.

        What goes through them is the dependence of the two best linear predictors from the others'
        functions: for one variable exactly what a chain makes. All 0 if the two are independent
        given the others, and these, where several, add up. The errors of the pairs are added as if
        different records had told them.
        """
        whole = self.of(first, second)
        left = [self.of(first, middle) for middle in middles]
        right = [self.of(middle, second) for middle in middles]
        inverse = self._inverse(middles)
        if whole is None or inverse is None:
            return None
        before = np.hstack([part.matrix for part in left if part is not None])
        behind = np.vstack([part.matrix for part in right if part is not None])
        if before.shape[1] < len(inverse) or len(behind) < len(inverse):
            return None
        covariance, start = whole.covariance, 0
        rows, columns = np.eye(len(before)), np.eye(behind.shape[1])
        for one, other in zip(left, right, strict=True):
            if one is None or other is None:
                return None
            place = slice(start, start + len(other.matrix))
            start = place.stop
            by_left = np.kron(rows, (inverse[place] @ behind).T)
            by_right = np.kron(before @ inverse[:, place], columns)
            covariance = covariance + by_left @ one.covariance @ by_left.T
            covariance = covariance + by_right @ other.covariance @ by_right.T
        values = (whole.matrix - before @ inverse @ behind).ravel()
        return Coefficients(values, covariance, whole.records)

    def _inverse(self, names: Sequence[str]) -> Tensor | None:
        """Return the inverse of the correlations of the functions of some variables."""
        widths = [self._single(name)[1].shape[1] for name in names]
        ends = np.cumsum([0, *widths])
        made = np.eye(int(ends[-1]))
        for a, b in itertools.combinations(range(len(names)), 2):
            pair = self.of(names[a], names[b])
            if pair is None:
                return None
            part = pair.kept * pair.matrix
            made[ends[a] : ends[a + 1], ends[b] : ends[b + 1]] = part
            made[ends[b] : ends[b + 1], ends[a] : ends[a + 1]] = part.T
        values, turn = np.linalg.eigh(made)
        found: Tensor = (turn / np.maximum(values, _FLAT)) @ turn.T
        return found

    def _single(self, name: str) -> tuple[Tensor, Tensor]:
        """Return a variable's distribution and its functions, categories x functions."""
        if name not in self._singles:
            counts = np.maximum(self.marginals.marginal([name]).counts, 0.5)
            law = counts / counts.sum()
            root = np.sqrt(law)
            turn, _ = np.linalg.qr(np.column_stack([root, np.eye(len(law))]))
            self._singles[name] = law, turn[:, 1 : len(law)] / root[:, None]
        return self._singles[name]

    def _made(self, first: str, second: str) -> Dependence | None:
        try:
            table = self.marginals.unbiased([first, second])
            if table is None:
                table = self.marginals.marginal([first, second])
        except (SingularChannel, EstimationError):
            return None
        (law, functions), (other, others) = self._single(first), self._single(second)
        records = table.records
        weights = np.einsum("ik,jl->klij", functions, others)
        weights = weights.reshape(-1, *table.counts.shape) / records
        values = np.tensordot(weights, table.counts, axes=2)
        covariance = table.covariance_of(weights, population=True)
        coefficients = Coefficients(values, covariance, records)
        kept = 1.0
        if table.variance(population=False).any():
            statistic = coefficients.omnibus
            kept = max(0.0, 1 - len(values) / statistic) if statistic > 0 else 0.0
        matrix = values.reshape(functions.shape[1], others.shape[1])
        information = _information(law, other, 1 + kept * functions @ matrix @ others.T)
        return Dependence(matrix, covariance, records, kept, information)


def _information(law: Tensor, other: Tensor, ratio: Tensor) -> float:
    """Return the mutual information of a table p q r, fitted to its margins where r was negative.

    Args:
        law, other: the margins p and q.
        ratio: r, raw.
    """
    plain = np.multiply.outer(law, other)
    table = plain * np.maximum(ratio, _LEAST)
    if ratio.min() < 0:
        for _ in range(_FITTING):
            table = table * (law / table.sum(axis=1))[:, None]
            table = table * (other / table.sum(axis=0))
    table = table / table.sum()
    return float(xlogy(table, table).sum() - xlogy(table, plain).sum())


def _tail(statistic: float, weights: Tensor) -> float:
    """Return the probability that sum w z^2 exceeds a statistic (Liu, Tang and Zhang 2009)."""
    # Half a second is what it costs to load, and only links learned from pairs have a use for it.
    from scipy.stats import chi2, ncx2

    one, two, three, four = (float(np.sum(weights**power)) for power in (1, 2, 3, 4))
    skewness, kurtosis = three / two**1.5, four / two**2
    if skewness**2 > kurtosis * (1 + 1e-9):
        scale = 1 / (skewness - math.sqrt(skewness**2 - kurtosis))
        shift = skewness * scale**3 - scale**2
        freedom = scale**2 - 2 * shift
    else:
        scale, shift, freedom = 1 / skewness, 0.0, two**3 / three**2
    at = (statistic - one) / math.sqrt(two) * scale + freedom + shift
    return float(ncx2.sf(at, freedom, shift) if shift > 0 else chi2.sf(at, freedom))


# Structures from pairs alone: the forest of Chow and Liu (1968), and links that it leaves out.
#
# A forest that is as near as can be to the records' distribution joins the pairs of the largest
# mutual information that close no circle. Noise makes information where there is none, so a pair is
# joined only if it is dependent beyond chance: of the links joined, at most a share `FALSE_SHARE`
# is expected to be of independent variables. What a forest leaves out is added where the reports
# contradict that it goes through others: the pair is dependent, and so given each variable, and
# each two, next to one of them (the first orders of the PC algorithm, Spirtes and Glymour 1991, in
# linear predictors of the variables' functions). All of it needs no more than pairs to be told.


FALSE_SHARE = 0.03
"""Of the links of a forest so many are expected, at most, to join independent variables."""

FAMILY_CELLS = 1 << 12
"""A variable gets no parents with which its table has more cells: of pairs no larger is made."""

LEVEL = 0.05
"""The chance that any link is added, or any direction set, where chains explain all pairs."""

Pair = tuple[str, str]
Named = TypeVar("Named", bound=tuple[str, ...])

_NAT = 1.0
"""The scale of information: what differs by less than rounding leaves of it is equal."""


@dataclass(frozen=True, eq=False)
class FoundFromPairs:
    """A structure learned from pairs: parents, and what speaks for each link."""

    parents: Parents
    evidence: dict[frozenset[str], Coefficients]


def from_pairs(
    marginals: Marginals, nodes: Sequence[str], max_parents: int, on_step: Progress
) -> FoundFromPairs:
    """Learn a structure from the tables of pairs.

    Args:
        marginals: what tells of the pairs.
        nodes: the variables.
        max_parents: the most parents of a variable; with 1 the forest alone is learned.
        on_step: called for each pair with pairs done and pairs in all; may raise to stop.
    """
    dependences = Dependences(marginals)
    search = _Search(dependences, tuple(nodes), on_step)
    links = search.forest()
    further = search.further(links) if max_parents > 1 else {}
    evidence: dict[frozenset[str], Coefficients] = {}
    for pair in links:
        found = dependences.of(*pair)
        if found is not None:
            evidence[frozenset(pair)] = found.independence
    evidence |= {frozenset(pair): tested for pair, tested in further.items()}
    colliders = search.colliders([*links, *further]) if max_parents > 1 else []
    ordered = [*links, *surest({pair: further[pair].p_value for pair in further})]
    while True:
        parents = directed(nodes, ordered, colliders)
        if all(
            len(given) <= max_parents
            and (len(given) < 2 or marginals.domain.project((n, *given)).size <= FAMILY_CELLS)
            for n, given in parents.items()
        ):
            return FoundFromPairs(parents, evidence)
        if colliders:
            colliders = colliders[:-1]
        else:
            ordered = ordered[:-1]


def spanning_forest(nodes: Sequence[str], weighed: dict[Pair, float]) -> list[Pair]:
    """Return the pairs of the largest weights that close no circle, largest first.

    Of equal weights, in nats, the pair that is listed first.
    """
    tree = {node: node for node in nodes}

    def top(node: str) -> str:
        while tree[node] != node:
            node = tree[node]
        return node

    found = []
    pairs = list(weighed)
    for place in descending(list(weighed.values()), scale=_NAT).tolist():
        pair = pairs[place]
        first, second = map(top, pair)
        if first != second:
            tree[first] = second
            found.append(pair)
    return found


def surest(p_values: Mapping[Named, float]) -> list[Named]:
    """Return what was tested, that of the smallest p-value first, and of equal ones by name."""
    names = sorted(p_values)
    least = np.finfo(float).tiny
    logs = np.log([max(p_values[name], least) for name in names])
    return [names[place] for place in ascending(logs).tolist()]


def directed(
    nodes: Sequence[str], links: Sequence[Pair], colliders: Sequence[tuple[str, str, str]]
) -> Parents:
    """Return parents with given links, in which (u, w, v) meet at w as far as that can be.

    Other links are directed so that no further two meet, or where a circle leaves no such way, on
    from the first variable of each part.
    """
    around: dict[str, frozenset[str]] = dict.fromkeys(nodes, frozenset())
    for first, second in links:
        around[first] |= {second}
        around[second] |= {first}
    into: dict[str, frozenset[str]] = dict.fromkeys(nodes, frozenset())
    free = dict(around)
    for first, middle, second in colliders:
        more = {first, second} - into[middle]
        if not {first, second} <= around[middle] or any(middle in into[n] for n in more):
            continue
        tried, left = dict(into), dict(free)
        for node in more:
            tried[middle] |= {node}
            left[middle] -= {node}
            left[node] -= {middle}
        if _member(tried, left) is not None:
            into, free = tried, left
    return _member(into, free) or outward(nodes, links)


def _member(into: dict[str, frozenset[str]], free: dict[str, frozenset[str]]) -> Parents | None:
    try:
        return CPDAG(into, free).member()
    except StructureError:
        return None


def outward(nodes: Sequence[str], links: Sequence[Pair]) -> Parents:
    """Return parents with given links, directed away from the first node of each part."""
    around: dict[str, set[str]] = {node: set() for node in nodes}
    for first, second in links:
        around[first].add(second)
        around[second].add(first)
    place: dict[str, int] = {}
    for start in nodes:
        pending = [start]
        while pending:
            node = pending.pop(0)
            if node not in place:
                place[node] = len(place)
                pending += sorted(around[node])
    return {n: frozenset(o for o in around[n] if place[o] < place[n]) for n in nodes}


@dataclass(frozen=True, eq=False)
class _Search:
    dependences: Dependences
    nodes: tuple[str, ...]
    on_step: Progress

    @cached_property
    def pairs(self) -> list[Pair]:
        return list(itertools.combinations(self.nodes, 2))

    def forest(self) -> list[Pair]:
        """Return the links of the forest (see the module)."""
        pairs = self.pairs
        chance: dict[Pair, float] = {}
        weights: dict[Pair, float] = {}
        for done, pair in enumerate(pairs):
            self.on_step(done, len(pairs))
            found = self.dependences.of(*pair)
            if found is not None:
                chance[pair] = found.independence.p_value
                weights[pair] = found.information
        self.on_step(len(pairs), len(pairs))
        links = 1
        while True:
            most = FALSE_SHARE * links / len(pairs)
            kept = {pair: weights[pair] for pair, p in chance.items() if reaches(most, p)}
            forest = spanning_forest(self.nodes, kept)
            if len(forest) <= links:
                return forest
            links = len(forest)

    def further(self, links: Sequence[Pair]) -> dict[Pair, Coefficients]:
        """Return the links that no chain explains, with what is least beyond one."""
        around: dict[str, set[str]] = {node: set() for node in self.nodes}
        for first, second in links:
            around[first].add(second)
            around[second].add(first)
        known: dict[tuple[Pair, tuple[str, ...]], Coefficients | None] = {}
        allowed = LEVEL / max(1, len(self.pairs))

        def weakest(pair: Pair) -> Coefficients | None:
            """Return the test that a pair fails least; None for one that is not dependent."""
            dependence = self.dependences.of(*pair)
            if dependence is None or exceeds(dependence.independence.p_value, allowed):
                return None
            found = dependence.independence
            near = sorted((around[pair[0]] | around[pair[1]]) - set(pair))
            for middles in (
                *((middle,) for middle in near),
                *itertools.combinations(near, 2),
            ):
                if (pair, middles) not in known:
                    known[pair, middles] = self.dependences.beyond(pair[0], middles, pair[1])
                tested = known[pair, middles]
                if tested is None:
                    return None
                if exceeds(tested.p_value, found.p_value):
                    found = tested
                if exceeds(found.p_value, allowed):
                    return None
            return found

        found: dict[Pair, Coefficients] = {}
        left = [pair for pair in self.pairs if pair not in links]
        tested: dict[Pair, float] = {}
        for pair in left:
            self._tick()
            test = weakest(pair)
            if test is not None:
                tested[pair] = test.p_value
        for pair in surest(tested):
            # A link added meanwhile may explain this one.
            test = weakest(pair)
            if test is not None:
                found[pair] = test
                around[pair[0]].add(pair[1])
                around[pair[1]].add(pair[0])
        return found

    def colliders(self, links: Sequence[Pair]) -> list[tuple[str, str, str]]:
        """Return (u, w, v) where u and v look independent and a chain over w contradicts that."""
        around: dict[str, list[str]] = {node: [] for node in self.nodes}
        for first, second in links:
            around[first].append(second)
            around[second].append(first)
        triples = [
            (first, middle, second)
            for middle in self.nodes
            for first, second in itertools.combinations(around[middle], 2)
            if second not in around[first]
        ]
        found: dict[tuple[str, str, str], float] = {}
        for first, middle, second in triples:
            self._tick()
            whole, chain = self.dependences.of(first, second), None
            if whole is not None and exceeds(whole.independence.p_value, LEVEL):
                chain = self.dependences.beyond(first, [middle], second)
            if chain is not None and reaches(LEVEL / len(triples), chain.p_value):
                found[first, middle, second] = chain.p_value
        return surest(found)

    def _tick(self) -> None:
        """Give the caller the chance to stop."""
        self.on_step(len(self.pairs), len(self.pairs))
