"""Jobs on knowledge models, which learn from owners' trees and need no records."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from miner_service.alignment.align import Aligner, LoadColumns
from miner_service.kinds import ModelJobKind
from miner_service.kinds.common.base import SharedTrees, TreeSource
from miner_service.kinds.common.costs import Less, Work
from miner_service.mining.prepared import Held, Learned, PreparedJob
from miner_service.settings import Limits
from pramana_core.errors import Conflict, DomainError, ModelError, VariablesMissing
from pramana_core.model_sharing.combination.schemas import common_schema
from pramana_core.model_sharing.core.tree import Leaf, SharedTree
from pramana_core.progress import Progress
from pramana_core.wire.learning.learners import ModelSharingSpec
from pramana_core.wire.releases import Alignment


@dataclass(frozen=True)
class ModelsJob(PreparedJob):
    """A job that can run: the trees it uses."""

    used: tuple[TreeSource, ...]


def prepare(
    spec: ModelSharingSpec,
    kind: ModelJobKind[Any],
    held: Sequence[Held],
    alignment: Alignment,
    limits: Limits,
    _aligner: Aligner,
) -> ModelsJob:
    """Check that a job can run on releases that hold trees.

    Raises:
        OptionError: the specification is wrong in itself.
        VariablesMissing: no tree is in use, none of an owner that is named, or none that tells the
            class that is asked for.
        Conflict: an owner has released nothing yet, or trees cannot be combined.
        LimitExceeded: the job would be too large.
    """
    kind.check(spec)
    if spec.owners is None and alignment.missing:
        raise Conflict(
            f"Not every owner has a release in use; waiting for {alignment.missing}.",
            where="owners",
            remedy="Wait for them, name in `owners` whose trees are used, or remove the owners that"
            " will not take part.",
        )
    chosen = _chosen(spec, held, alignment.study)
    used = tuple(TreeSource(source.owner, source.release, model) for source, model in chosen)
    _require_combinable(used)
    kind.require_affordable(spec, used, limits)
    return ModelsJob(tuple(source for source, _ in chosen), alignment, used)


def work(spec: ModelSharingSpec, kind: ModelJobKind[Any], prepared: ModelsJob) -> Work:
    """Return how much work a specification is on the trees of a job that can run."""
    return kind.work(spec, prepared.used)


def less(
    spec: ModelSharingSpec, kind: ModelJobKind[Any], prepared: ModelsJob
) -> Iterable[Less[ModelSharingSpec]]:
    """Return the ways to ask for less."""
    return kind.less(spec, prepared.used)


def learn(
    spec: ModelSharingSpec,
    kind: ModelJobKind[Any],
    prepared: ModelsJob,
    _aligner: Aligner,
    _load: LoadColumns,
    on_step: Progress,
) -> Learned:
    """Combine a job's trees.

    Raises:
        ModelError, LimitExceeded: they cannot be combined so.
    """
    trees = []
    for source in prepared.used:
        on_step(0, 1)
        trees.append(source.model.to_tree())
    records, content = kind.learn(spec, SharedTrees(trees, prepared.used), on_step)
    return Learned(records, content)


def _chosen(spec: ModelSharingSpec, held: Sequence[Held], study: str) -> list[Held]:
    """Return the trees in use of the owners and of the class that are asked for."""
    if not held:
        raise VariablesMissing(
            f"No knowledge model is in use in study {study}; this job learns from such releases"
            " alone.",
            where="kind",
            remedy="Let an owner publish one with `owner-agent share-model`.",
        )
    there = {source.owner for source, _ in held}
    if absent := sorted(set(spec.owners or ()) - there):
        raise VariablesMissing(
            f"No knowledge model of {', '.join(absent)} is in use in study {study}.",
            where="owners",
            remedy=f"Owners of trees in use are {sorted(there)}.",
        )
    asked = [one for one in held if spec.owners is None or one[0].owner in spec.owners]
    targets = {source.owner: _target(model) for source, model in asked}
    if spec.target is None:
        if len(set(targets.values())) > 1:
            told = ", ".join(f"{owner} {target!r}" for owner, target in targets.items())
            raise Conflict(
                f"The trees tell different classes ({told}).",
                where="target",
                remedy="Say in `target` which of them is asked for.",
            )
        return asked
    found = [one for one in asked if targets[one[0].owner] == spec.target]
    without = sorted(o for o, target in targets.items() if target != spec.target)
    if not found or (spec.owners is not None and without):
        raise VariablesMissing(
            f"No tree of {', '.join(without)} tells {spec.target!r}.",
            where="target",
            remedy=f"The classes that trees in use tell are {sorted(set(targets.values()))}.",
        )
    return found


def _target(model: Any) -> str:
    return str(model.tree.target.name)


def _require_combinable(used: Sequence[TreeSource]) -> None:
    """Check that trees can be combined; of those that cannot, name two. Raises Conflict."""
    bare = [_bare(source) for source in used]
    with suppress(DomainError, ModelError):
        common_schema(bare)
        return
    for source, tree in zip(used[1:], bare[1:], strict=True):
        try:
            common_schema([bare[0], tree])
        except (DomainError, ModelError) as error:
            raise Conflict(
                f"The trees of {used[0].owner} and {source.owner} cannot be combined:"
                f" {error.message}",
                where=error.where,
                remedy="Let both owners release trees of the same class and the same attributes,"
                " or name in `owners` those whose trees go together.",
            ) from error


def _bare(source: TreeSource) -> SharedTree:
    """Return a tree of the same schema that asks for nothing: it costs nothing to make."""
    document = source.model.tree
    if document is None:
        raise Conflict(f"The tree of {source.owner} was withdrawn.", where=source.release)
    return SharedTree(document.tree_schema(), Leaf(0, 0, 0))
