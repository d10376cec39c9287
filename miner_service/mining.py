"""The kinds of jobs: what a job needs of the releases, and what it makes of them.

`prepare` decides from the metadata alone whether a job can run; it is asked when the job is created
and again when it runs. `learn` does the work.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from miner_service.align import Aligner, Source, require_aligned
from miner_service.settings import Limits
from shared.counts import Codes, ReportedCounts
from shared.errors import Conflict, LimitExceeded, VariablesMissing
from shared.estimate import EstimatedMarginals
from shared.learn.bayes_net import LearnedBayesNet, learn_parameters
from shared.learn.structure import Structure
from shared.loglinear import affordable
from shared.plan import Block, Plan
from shared.wire import Alignment, JobSpec

OnNode = Callable[[int, int], None]
LoadColumns = Callable[[str, Sequence[str]], Mapping[str, Codes]]
"""Returns some columns of a sealed release."""


@dataclass(frozen=True)
class Release:
    """A sealed release with its plan."""

    source: Source
    plan: Plan


@dataclass(frozen=True)
class Prepared:
    """A job that can run: the blocks it needs, and from which releases."""

    structure: Structure
    releases: tuple[Release, ...]
    blocks: tuple[tuple[Release, tuple[Block, ...]], ...]
    alignment: Alignment

    @property
    def plan(self) -> Plan:
        """The joined plan of the blocks needed."""
        return Plan(tuple(block for _, blocks in self.blocks for block in blocks))


def default_key(spec: JobSpec, alignment: Alignment) -> str:
    """Return the key of a job that names none: the same work on the same data has the same."""
    work = json.dumps(spec.model_dump(mode="json"), sort_keys=True)
    content = f"{work}\n{alignment.digest}"
    return "job-" + hashlib.sha256(content.encode()).hexdigest()[:16]


def prepare(
    spec: JobSpec, releases: Sequence[Release], alignment: Alignment, limits: Limits
) -> Prepared:
    """Check that a job can run on these releases.

    Raises:
        StructureError: the structure is not an acyclic network.
        RecordsDoNotAlign: the owners' records may not be joined as the job asks.
        VariablesMissing: a node is not reported.
        Conflict: two owners report the same node.
        LimitExceeded: a node and its parents have too many cells.
    """
    structure = Structure.of(spec.structure)
    require_aligned(alignment, common=spec.records == "common")
    nodes = set(spec.structure)
    blocks = tuple(
        (release, needed)
        for release in releases
        if (needed := tuple(b for b in release.plan.blocks if nodes & set(b.names)))
    )
    _require_one_source(nodes, releases, blocks)
    prepared = Prepared(structure, tuple(releases), blocks, alignment)
    _require_small(spec, prepared.plan, limits)
    return prepared


def learn(
    spec: JobSpec, prepared: Prepared, aligner: Aligner, load: LoadColumns, on_node: OnNode
) -> LearnedBayesNet:
    """Learn the parameters of a network of given structure (Ma 5.4).

    Raises:
        EstimationError, SingularChannel: the data cannot support the estimate.
    """
    columns = _join(prepared, aligner, load)
    plan = prepared.plan
    reported = ReportedCounts(
        {name: columns[name] for name in plan.domain.names}, plan.reported_sizes
    )
    marginals = EstimatedMarginals(reported, plan, estimator=spec.estimator, order=spec.order)
    return learn_parameters(
        marginals, prepared.structure, method=spec.method, alpha=spec.alpha, on_node=on_node
    )


def _join(prepared: Prepared, aligner: Aligner, load: LoadColumns) -> dict[str, Codes]:
    """Load the columns needed, cut to the records that every owner has."""
    partial = prepared.alignment.state == "partial"
    sources = [release.source for release in prepared.releases]
    masks = dict(zip(sources, aligner.common(sources), strict=True)) if partial else {}
    joined: dict[str, Codes] = {}
    for release, blocks in prepared.blocks:
        names = [name for block in blocks for name in block.names]
        columns = load(release.source.release, names)
        if partial:
            mask = masks[release.source]
            columns = {name: column[mask] for name, column in columns.items()}
        joined.update(columns)
    return joined


def _require_one_source(
    nodes: set[str],
    releases: Sequence[Release],
    blocks: Sequence[tuple[Release, tuple[Block, ...]]],
) -> None:
    """Check that each node is reported, and each variable of the blocks needed by one owner."""
    owners: dict[str, list[str]] = {}
    for release, needed in blocks:
        for name in (n for block in needed for n in block.names):
            owners.setdefault(name, []).append(release.source.owner)
    missing = sorted(nodes - set(owners))
    if missing:
        reported = sorted(n for r in releases for n in r.plan.domain.names)
        raise VariablesMissing(
            f"No sealed release in use reports {missing}.",
            where=", ".join(missing),
            remedy=f"The variables reported are {reported}.",
        )
    twice = {name: found for name, found in sorted(owners.items()) if len(found) > 1}
    if twice:
        raise Conflict(
            "More than one owner reports "
            + "; ".join(f"{name} ({', '.join(found)})" for name, found in twice.items())
            + ".",
            where=", ".join(twice),
            remedy="Each variable of a network must come from one owner; rename one of them.",
        )


def _require_small(spec: JobSpec, plan: Plan, limits: Limits) -> None:
    """Bound the table of each node with its parents.

    A joint block whose channel is not lumpable for them counts whole.
    """
    domain = plan.domain
    parameters = sum(domain.project((n, *p)).size for n, p in spec.structure.items())
    if parameters > limits.model_parameters:
        raise LimitExceeded(
            f"The network has {parameters} parameters; {limits.model_parameters} are allowed.",
            where="structure",
            remedy="Give its nodes fewer parents, or its variables fewer categories.",
        )
    for node, parents in spec.structure.items():
        cells = math.prod(max(shape) for shape in _shapes(plan, {node, *parents}))
        if cells > limits.job_cells:
            raise LimitExceeded(
                f"The table of node {node!r} and its parents has {cells} cells;"
                f" {limits.job_cells} are allowed.",
                where=node,
                remedy="Give the node fewer parents, or its variables fewer categories.",
            )
        if spec.estimator == "log-linear":
            _require_affordable(spec, plan, node, {node, *parents})


def _require_affordable(spec: JobSpec, plan: Plan, node: str, names: set[str]) -> None:
    """Bound the log-linear model of a node and its parents."""
    sizes = [plan.domain[name].size for name in names]
    reports = math.prod(reported for _, reported in _shapes(plan, names))
    if not affordable(sizes, min(spec.order, len(sizes)), reports):
        raise LimitExceeded(
            f"A log-linear model of node {node!r} and its parents is too large to fit.",
            where=node,
            remedy="Give the node fewer parents, or ask for a lower order.",
        )


def _shapes(plan: Plan, names: set[str]) -> list[tuple[int, int]]:
    """Return the shape of the channel that each block's part in a table is estimated by."""
    shapes = []
    for block in plan.blocks:
        asked = [name for name in block.names if name in names]
        if asked:
            shapes.append((block.restrict(asked) or block.channel).shape)
    return shapes
