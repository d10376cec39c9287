"""Models made of the trees that owners released, without any records."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, ClassVar

from miner_service.alignment.align import Aligner
from miner_service.alignment.joining import RecordAccess
from miner_service.kinds.affordability import read_document, write_document
from miner_service.kinds.base import (
    Content,
    Held,
    JobKind,
    JobResult,
    PreparedJob,
    render,
)
from miner_service.settings import Limits
from pramana_core.alike import did_you_mean
from pramana_core.errors import (
    Conflict,
    DomainError,
    LimitExceeded,
    ModelError,
    NotFound,
    VariablesMissing,
)
from pramana_core.learn.common.documents import stream
from pramana_core.mixed import MixedTable
from pramana_core.model_sharing.attributes import CategoricalAttribute, TreeSchema
from pramana_core.model_sharing.drawn_sizes import GenerationOptions
from pramana_core.model_sharing.exchange.documents import LONGEST_TEXT, model_json, read_model_json
from pramana_core.model_sharing.exchange.drawing import draw_model
from pramana_core.model_sharing.exchange.text import write_model_text
from pramana_core.model_sharing.generating import generate
from pramana_core.model_sharing.global_models.combining import combine, pseudo_chunks
from pramana_core.model_sharing.global_models.common_schema import common_schema, in_schema
from pramana_core.model_sharing.global_models.measures import class_match, path_match
from pramana_core.model_sharing.global_models.model import GlobalModel, TreeModel
from pramana_core.model_sharing.global_models.pseudo_data import together
from pramana_core.model_sharing.global_models.votes import VotesModel
from pramana_core.model_sharing.growing import require_installed
from pramana_core.model_sharing.tree import Leaf, SharedTree
from pramana_core.progress import Progress
from pramana_core.wire.jobs import ModelSharingSpec, UsedTreeMessage
from pramana_core.wire.models import ModelSharingMessage
from pramana_core.wire.release_kinds import SHARED_TREE, SharedTreeMessage
from pramana_core.wire.releases import Alignment

MOST_NUMBERS = 100_000_000
"""Of pseudo-data: records times columns, a category being a column of its own."""

MOST_CELLS = 20_000_000
"""Of the tables that tell all classes of each path, each category or each record compared."""

MOST_DRAWN = 200_000
"""Leaves times classes of a picture."""

COMPARED = 20_000
"""Of so many records at most it is counted how often a model and a tree agree."""


@dataclass(frozen=True)
class TreeSource:
    """A released tree that a job uses: whose, which, and what its owner says of it."""

    owner: str
    release: str
    model: SharedTreeMessage


@dataclass(frozen=True)
class SharedTrees:
    """The trees of a job on shared trees, and the releases they are from, in one order."""

    trees: Sequence[SharedTree]
    sources: Sequence[TreeSource]


@dataclass(frozen=True)
class ModelsJob(PreparedJob):
    """A job that can run: the trees it uses."""

    used: tuple[TreeSource, ...]


def _pseudo_records(spec: ModelSharingSpec, used: Sequence[TreeSource]) -> float:
    documents = [source.model.tree for source in used if source.model.tree is not None]
    counted = sum(path.hit + path.miss for document in documents for path in document.leaves)
    options = spec.options()
    return options.pseudo_records or counted * options.scale


def _columns(schema: TreeSchema) -> int:
    return sum(
        len(a.categories) if isinstance(a, CategoricalAttribute) else 1 for a in schema.attributes
    )


def _require_readable(document: Mapping[str, Any]) -> None:
    """Check that a model is not longer than what is read again. Raises LimitExceeded."""
    length = len(json.dumps(document, ensure_ascii=False).encode())
    if length > LONGEST_TEXT:
        raise LimitExceeded(
            f"The model has {length:,} bytes of JSON; {LONGEST_TEXT:,} are allowed.",
            where="document",
            remedy="Name fewer owners, or ask for a smaller tree.",
        )


def _compared(
    spec: ModelSharingSpec, trees: Sequence[SharedTree], schema: TreeSchema
) -> MixedTable:
    """Return the records by which a model and the trees are compared: no true ones are here."""
    options = spec.options()
    width = len(schema.names) + schema.classes
    records = max(1, min(COMPARED, MOST_CELLS // width))
    if options.draws:
        counted = sum(tree.records for tree in trees)
        if (options.pseudo_records or counted * options.scale) > records:
            options = replace(options, pseudo_records=records, scale=1.0)
        return together(list(pseudo_chunks(trees, options, stream(options.seed))))
    evenly = GenerationOptions(method="basegen", records=records)
    return generate(SharedTree(schema, Leaf(0, 0, 0)), stream(options.seed), evenly)


def _used(
    source: TreeSource, tree: SharedTree, model: GlobalModel, compared: MixedTable
) -> UsedTreeMessage:
    told = source.model
    known = in_schema(tree, model.schema)
    alike = class_match(model, TreeModel(known), compared)
    return UsedTreeMessage(
        release=source.release,
        owner=source.owner,
        paths=len(tree.leaves),
        counted=tree.records,
        requirement=told.requirement,
        counts=told.counts,
        epsilon=told.epsilon,
        class_match=alike.value,
        class_match_se=alike.standard_error,
        path_match=path_match(tree, model.tree) if isinstance(model, TreeModel) else None,
    )


def _model(message: ModelSharingMessage) -> GlobalModel:
    return read_model_json(read_document(message))


def _pseudo_data(message: ModelSharingMessage, trees: Sequence[SharedTree]) -> Iterator[MixedTable]:
    """Draw again what the model was learned from. Raises NotFound: from nothing."""
    spec = message.spec
    if not isinstance(spec, ModelSharingSpec) or not spec.options().draws:
        raise NotFound(
            "No pseudo-data were drawn for this model: the trees themselves are it.",
            where="pseudo-data",
            remedy="Create a job with the method `pgen`, `basegen` or `labelled`.",
        )
    options = spec.options()
    return pseudo_chunks(trees, options, stream(options.seed))


def _draw(message: ModelSharingMessage) -> str:
    model = _model(message)
    if not _drawable(model):
        raise NotFound(
            "A model that is not made of trees has no picture, nor has one of very many leaves.",
            where="svg",
            remedy="Read its text or document.",
        )
    return draw_model(model).svg()


def _drawable(model: GlobalModel) -> bool:
    """Whether a model is made of trees that are small enough for a picture."""
    return 0 < _leaves(model) * model.schema.classes <= MOST_DRAWN


def _leaves(model: GlobalModel) -> int:
    """Return how many leaves the trees of a model have; 0 of one that is not made of trees."""
    if isinstance(model, TreeModel):
        return len(model.tree.leaves)
    trees = model.trees if isinstance(model, VotesModel) else ()
    return sum(len(tree.leaves) for tree in trees)


def _page(message: ModelSharingMessage) -> str:
    model = _model(message)
    return render(
        "sharing.html.j2",
        message,
        learned=model,
        schema=model.schema,
        picture=draw_model(model).svg() if _drawable(model) else None,
        text=write_model_text(model),
        drawn=bool(message.pseudo_records),
        promised=_promised,
        attributes=list(islice(model.schema.names, 40)),
    )


def _promised(used: UsedTreeMessage) -> str:
    """Return in words what a release promises of its tree."""
    said = []
    if used.requirement is not None:
        said.append(str(used.requirement.to_requirement()))
    if used.epsilon is not None:
        said.append(f"epsilon {used.epsilon:.4g}")
    return "; ".join(said) or "nothing"


def _chosen(spec: ModelSharingSpec, held: Sequence[Held], study: str) -> list[Held]:
    """Return the trees in use of the owners and of the class that are asked for."""
    if not held:
        raise VariablesMissing(
            f"No shared tree is in use in study {study}; this job learns from such releases alone.",
            where="kind",
            remedy="Let an owner publish one with `owner-agent share-model`.",
        )
    there = {source.owner for source, _ in held}
    if absent := sorted(set(spec.owners or ()) - there):
        raise VariablesMissing(
            f"No shared tree of {', '.join(absent)} is in use in study"
            f" {study}{did_you_mean(absent, there)}.",
            where="owners",
            remedy=f"Owners of trees in use are {sorted(there)}.",
        )
    asked = [one for one in held if spec.owners is None or one[0].owner in spec.owners]
    targets = {source.owner: _target(model) for source, model in asked}
    if spec.target is None:
        if len(set(targets.values())) > 1:
            words = ", ".join(f"{owner} {target!r}" for owner, target in targets.items())
            raise Conflict(
                f"The trees tell different classes ({words}).",
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
    """Check that trees can be combined. Raises Conflict."""
    try:
        common_schema([_bare(source) for source in used], [source.owner for source in used])
    except (DomainError, ModelError) as error:
        raise Conflict(
            f"The trees cannot be combined: {error.message}",
            where=error.where,
            remedy="Let all owners release trees of the same class, attributes and categories, or"
            " name in `owners` those whose trees go together.",
        ) from error


def _bare(source: TreeSource) -> SharedTree:
    """Return a tree of the same schema that asks for nothing: it costs nothing to make."""
    document = source.model.tree
    if document is None:
        raise Conflict(f"The tree of {source.owner} was withdrawn.", where=source.release)
    return SharedTree(document.tree_schema(), Leaf(0, 0, 0))


class ModelSharingKind(JobKind[ModelSharingSpec, ModelsJob, ModelSharingMessage]):
    """Jobs on shared trees, which learn from owners' trees and need no records."""

    release_kind = SHARED_TREE
    spec, message = ModelSharingSpec, ModelSharingMessage
    views: ClassVar = {
        "page": _page,
        "svg": _draw,
        "text": lambda message: write_model_text(_model(message)),
        "document": write_document,
    }
    classifier = staticmethod(_model)
    pseudo_data = staticmethod(_pseudo_data)

    def prepare(
        self,
        spec: ModelSharingSpec,
        held: Sequence[Held],
        alignment: Alignment,
        limits: Limits,
        _aligner: Aligner,
    ) -> ModelsJob:
        """Check that a job can run on releases that hold trees.

        Raises:
            OptionError: the specification is wrong in itself.
            VariablesMissing: no tree is in use, none of an owner that is named, or none that tells
                the class that is asked for.
            Conflict: an owner has released nothing yet, or trees cannot be combined.
            LimitExceeded: the job would be too large.
        """
        self.check(spec)
        if spec.owners is None and alignment.missing:
            raise Conflict(
                f"Not every owner has a release in use; waiting for {alignment.missing}.",
                where="owners",
                remedy="Wait for them, name in `owners` whose trees are used, or remove the owners"
                " that will not take part.",
            )
        chosen = _chosen(spec, held, alignment.study)
        used = tuple(TreeSource(source.owner, source.release, model) for source, model in chosen)
        _require_combinable(used)
        self.require_affordable(spec, used, limits)
        return ModelsJob(tuple(source for source, _ in chosen), alignment, used)

    def learned(
        self,
        spec: ModelSharingSpec,
        prepared: ModelsJob,
        _access: RecordAccess,
        on_step: Progress,
    ) -> JobResult:
        """Combine a job's trees.

        Raises:
            ModelError, LimitExceeded: they cannot be combined so.
        """
        trees = []
        for source in prepared.used:
            on_step(0, 1)
            trees.append(source.model.to_tree())
        records, content = self.learn(spec, SharedTrees(trees, prepared.used), on_step)
        return JobResult(records, content)

    def check(self, spec: ModelSharingSpec) -> None:
        options = spec.options()
        if options.draws and options.model == "tree":
            require_installed()

    def require_affordable(
        self, spec: ModelSharingSpec, used: Sequence[TreeSource], limits: Limits
    ) -> None:
        """Bound the numbers of the pseudo-data, and what a model may be. Raises LimitExceeded."""
        options = spec.options()
        documents = [source.model.tree for source in used if source.model.tree is not None]
        paths = sum(len(document.leaves) for document in documents)
        if paths > limits.model_parameters:
            raise LimitExceeded(
                f"The trees have {paths:,} paths; {limits.model_parameters:,} are allowed.",
                where="owners",
                remedy="Name fewer owners, or let them prune their trees further.",
            )
        schemas = [document.tree_schema() for document in documents]
        columns = max(map(_columns, schemas))
        classes = len({label for schema in schemas for label in schema.target.categories})
        if classes * (paths + columns) > MOST_CELLS:
            raise LimitExceeded(
                f"The {classes:,} classes of {paths:,} paths and {columns:,} columns, each category"
                f" one, are {classes * (paths + columns):,} numbers; {MOST_CELLS:,} are allowed.",
                where="owners",
                remedy="Name fewer owners, or let them share trees of fewer classes or paths.",
            )
        if not options.draws:
            return
        records = _pseudo_records(spec, used)
        if records * columns > MOST_NUMBERS:
            raise LimitExceeded(
                f"{records:,.0f} pseudo-records of {columns:,} columns, each category one, are"
                f" {records * columns:,.0f} numbers; {MOST_NUMBERS:,} are allowed.",
                where="pseudo_records",
                remedy=f"Ask for at most {MOST_NUMBERS // columns:,} pseudo-records.",
            )

    def learn(
        self, spec: ModelSharingSpec, shared: SharedTrees, on_step: Progress
    ) -> tuple[int, Content]:
        options = spec.options()
        owners = [source.owner for source in shared.sources]
        made = combine(shared.trees, options, stream(options.seed), on_step, owners=owners)
        compared = _compared(spec, shared.trees, made.model.schema)
        used = [
            _used(source, tree, made.model, compared)
            for source, tree in zip(shared.sources, shared.trees, strict=True)
        ]
        on_step(1, 1)
        document = model_json(made.model)
        _require_readable(document)
        return round(made.records), {
            "trees": used,
            "pseudo_records": made.pseudo_records,
            "notes": list(made.notes),
            "holds_releases": not options.draws,
            "document": document,
        }
