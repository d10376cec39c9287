"""The kinds of jobs: what a job needs of the releases, and what it makes of them.

`prepare` decides from the metadata alone whether a job can run; it is asked when the job is created
and again when it runs. `learn` does the work.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from miner_service.affordability import Layout, require_affordable_search, require_small
from miner_service.align import Aligner, require_aligned
from miner_service.joining import LoadColumns, Release, marginals_of
from miner_service.settings import Limits
from shared.counts import Explanation, Independence, Marginals, MarginalTable
from shared.domain import Domain
from shared.errors import Conflict, OptionError, VariablesMissing
from shared.learn.bayes_net import LearnedBayesNet, learn_parameters
from shared.learn.scores import Scoring
from shared.learn.search import Search
from shared.learn.structure import Structure
from shared.learn.structure_learning import LearnedLink, LearnedStructure, learn_structure
from shared.plan import Block, Plan
from shared.transition import Withheld
from shared.wire import Alignment, BayesNetParametersSpec, BayesNetStructureSpec, JobSpec

OnStep = Callable[[int, int], None]
"""Called with (steps done, steps in all); may raise to stop."""

_SEARCH_STEPS, _PARAMETER_STEPS = 90, 10
"""How much of a structure job's progress is the search, and how much its parameters."""


@dataclass(frozen=True)
class Prepared:
    """A job that can run: its nodes, the blocks it needs, and from which releases."""

    nodes: tuple[str, ...]
    releases: tuple[Release, ...]
    blocks: tuple[tuple[Release, tuple[Block, ...]], ...]
    alignment: Alignment


@dataclass(frozen=True)
class Group:
    """Records that the same releases have: how many, and the blocks they are reported by."""

    records: int
    blocks: tuple[tuple[Release, tuple[Block, ...]], ...]

    def owners(self, name: str) -> list[str]:
        """Return the owners whose releases have a variable."""
        return [r.source.owner for r, blocks in self.blocks if any(name in b.names for b in blocks)]

    @property
    def names(self) -> list[str]:
        """The variables of the blocks, each as often as an owner has it."""
        return [name for _, blocks in self.blocks for block in blocks for name in block.names]

    @property
    def plan(self) -> Plan:
        """The plan of the records' reports. Raises PlanError if a variable is there twice."""
        return Plan(tuple(block for _, blocks in self.blocks for block in blocks))

    @property
    def silent(self) -> set[str]:
        """The variables that are withheld from every report."""
        held = [block for _, blocks in self.blocks for block in blocks]
        return {n for b in held if isinstance(b.channel, Withheld) for n in b.names}


@dataclass(frozen=True)
class Learned:
    """What a job makes: a network, and what it found out of its links if it searched for them."""

    network: LearnedBayesNet
    links: tuple[LearnedLink, ...] = ()


@dataclass(frozen=True)
class ChosenMarginals:
    """Marginals of some variables only: a joint block may bring in others besides."""

    domain: Domain
    whole: Marginals

    @property
    def records(self) -> int:
        """The number of records."""
        return self.whole.records

    def marginal(self, variables: Sequence[str]) -> MarginalTable:
        """See `Marginals.marginal`."""
        return self.whole.marginal(variables)

    def independence(
        self, left: Sequence[str], right: Sequence[str], given: Sequence[str]
    ) -> Independence:
        """See `Marginals.independence`."""
        return self.whole.independence(left, right, given)

    def explanation(self, parents: Mapping[str, Collection[str]]) -> Explanation | None:
        """See `Marginals.explanation`."""
        return self.whole.explanation(parents)


def default_key(spec: JobSpec, alignment: Alignment) -> str:
    """Return the key of a job that names none: the same work on the same data has the same."""
    work = json.dumps(spec.model_dump(mode="json"), sort_keys=True)
    content = f"{work}\n{alignment.digest}"
    return "job-" + hashlib.sha256(content.encode()).hexdigest()[:16]


def prepare(
    spec: JobSpec,
    releases: Sequence[Release],
    alignment: Alignment,
    limits: Limits,
    aligner: Aligner,
) -> Prepared:
    """Check that a job can run on these releases.

    Raises:
        StructureError: the structure is not an acyclic network.
        OptionError: variables named twice, an order that is not one of the variables, or an
            estimator that cannot serve records reported differently.
        RecordsDoNotAlign: the owners' records may not be joined as the job asks.
        VariablesMissing: a node is not reported.
        Conflict: two owners report the same node (with records `any`: of the same record).
        LimitExceeded: a node and its parents have too many cells.
    """
    if isinstance(spec, BayesNetParametersSpec):
        Structure.of(spec.structure)
    require_aligned(alignment, spec.records)
    nodes = _nodes(spec, releases)
    blocks = tuple(
        (release, needed)
        for release in releases
        if (needed := tuple(b for b in release.plan.blocks if set(nodes) & set(b.names)))
    )
    _require_reported(set(nodes), releases, blocks)
    if spec.records == "any":
        groups = _groups(blocks, aligner)
        _require_combinable(spec, nodes, groups)
        layout = Layout(tuple(group.plan for group in groups))
    else:
        _require_one_source(blocks)
        layout = Layout((Plan(tuple(block for _, needed in blocks for block in needed)),))
    if isinstance(spec, BayesNetStructureSpec):
        require_affordable_search(spec, nodes, layout, limits)
    else:
        require_small(spec, layout, limits)
    return Prepared(nodes, tuple(releases), blocks, alignment)


def learn(
    spec: JobSpec, prepared: Prepared, aligner: Aligner, load: LoadColumns, on_step: OnStep
) -> Learned:
    """Learn the parameters of a network (Ma 5.4), and before that its structure if none is given.

    Raises:
        EstimationError, SingularChannel, LimitExceeded: the data cannot support the estimate.
    """
    marginals = marginals_of(spec, prepared.releases, prepared.blocks, aligner, load)
    if isinstance(spec, BayesNetParametersSpec):
        return Learned(_parameters(spec, marginals, Structure.of(spec.structure), on_step))
    chosen = ChosenMarginals(marginals.domain.project(prepared.nodes), marginals)
    found = _search(spec, chosen, _part(on_step, 0, _SEARCH_STEPS))
    on_step = _part(on_step, _SEARCH_STEPS, _PARAMETER_STEPS)
    return Learned(_parameters(spec, marginals, found.structure, on_step), found.links)


def _parameters(
    spec: JobSpec, marginals: Marginals, structure: Structure, on_step: OnStep
) -> LearnedBayesNet:
    return learn_parameters(
        marginals, structure, method=spec.method, alpha=spec.alpha, on_node=on_step
    )


def _search(spec: BayesNetStructureSpec, marginals: Marginals, on_step: OnStep) -> LearnedStructure:
    return learn_structure(
        marginals,
        Scoring(**spec.score.model_dump()),
        _search_of(spec),
        draws=spec.draws,
        seed=spec.seed,
        on_step=on_step,
    )


def _search_of(spec: BayesNetStructureSpec) -> Search:
    asked = spec.search
    order = None if asked.order is None else tuple(asked.order)
    return Search(order, asked.max_parents, asked.tabu, asked.refine)


def _part(on_step: OnStep, start: int, length: int) -> OnStep:
    """Report a part of a job as its share of the whole, in hundredths; a search may step back."""
    furthest = start

    def step(done: int, total: int) -> None:
        nonlocal furthest
        furthest = max(furthest, start + length * done // max(total, 1))
        on_step(furthest, 100)

    return step


def _nodes(spec: JobSpec, releases: Sequence[Release]) -> tuple[str, ...]:
    """Return the nodes of a job's network; of a search, by default, all that is reported."""
    if isinstance(spec, BayesNetParametersSpec):
        return tuple(spec.structure)
    _search_of(spec)
    nodes = tuple(spec.variables or _reported(releases))
    if len(set(nodes)) < len(nodes):
        raise OptionError("A variable is named twice.", where="variables")
    order = spec.search.order
    if order is not None and set(order) != set(nodes):
        missing, unknown = sorted(set(nodes) - set(order)), sorted(set(order) - set(nodes))
        raise OptionError(
            "The order is not one of the variables:"
            f" missing {missing}, not among the variables {unknown}.",
            where="search.order",
            remedy="Name in `order` the same variables as in `variables`.",
        )
    return nodes


def _reported(releases: Sequence[Release]) -> list[str]:
    blocks = [block for release in releases for block in release.plan.blocks]
    names = [n for b in blocks if not isinstance(b.channel, Withheld) for n in b.names]
    # Named by two owners it stays here once, and is refused as reported by both.
    return list(dict.fromkeys(names))


def _require_reported(
    nodes: set[str],
    releases: Sequence[Release],
    blocks: Sequence[tuple[Release, tuple[Block, ...]]],
) -> None:
    """Check that each node is reported."""
    missing = sorted(nodes - {n for _, needed in blocks for b in needed for n in b.names})
    if missing:
        reported = sorted({n for r in releases for n in r.plan.domain.names})
        raise VariablesMissing(
            f"No sealed release in use reports {missing}.",
            where=", ".join(missing),
            remedy=f"The variables reported are {reported}.",
        )


def _groups(blocks: Sequence[tuple[Release, tuple[Block, ...]]], aligner: Aligner) -> list[Group]:
    """Return the sets of records that the same ones of the needed releases have."""
    together = aligner.together([release.source for release, _ in blocks])
    return [
        Group(records, tuple(pair for pair in blocks if pair[0].source.release in present))
        for present, records in together.items()
    ]


def _require_combinable(spec: JobSpec, nodes: Sequence[str], groups: Sequence[Group]) -> None:
    """Check that records reported differently can be explained together."""
    if spec.estimator == "log-linear":
        raise OptionError(
            "A log-linear model takes records that are reported alike.",
            where="estimator",
            remedy='Use the estimator "ml" with records "any".',
        )
    for group in groups:
        _require_each_once(group)
    if spec.estimator == "moment":
        _require_all_reported(nodes, groups)


def _require_each_once(group: Group) -> None:
    twice = {name: owners for name in group.names if len(owners := group.owners(name)) > 1}
    if twice:
        raise Conflict(
            f"{group.records} records have a variable from more than one owner: "
            + "; ".join(f"{name} ({', '.join(found)})" for name, found in sorted(twice.items()))
            + ".",
            where=", ".join(sorted(twice)),
            remedy="Of one record each variable must come from one owner; rename one of them.",
        )


def _require_all_reported(nodes: Sequence[str], groups: Sequence[Group]) -> None:
    for group in groups:
        absent = sorted(set(nodes) - (set(group.names) - group.silent))
        if absent:
            raise OptionError(
                f"{group.records} records are reported without {absent}; their moments say nothing"
                " of what is missing.",
                where="estimator",
                remedy='Use the estimator "ml" with records "any".',
            )


def _require_one_source(blocks: Sequence[tuple[Release, tuple[Block, ...]]]) -> None:
    """Check that each variable of the blocks needed is reported by one owner."""
    owners: dict[str, list[str]] = {}
    for release, needed in blocks:
        for name in (n for block in needed for n in block.names):
            owners.setdefault(name, []).append(release.source.owner)
    twice = {name: found for name, found in sorted(owners.items()) if len(found) > 1}
    if twice:
        raise Conflict(
            "More than one owner reports "
            + "; ".join(f"{name} ({', '.join(found)})" for name, found in twice.items())
            + ".",
            where=", ".join(twice),
            remedy="Each variable of a network must come from one owner; rename one of them, or ask"
            ' for `"records": "any"` if the owners know different people.',
        )
