"""Models learned from the trees that owners released. The owners release no records for them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from miner_service.alignment.align import Aligner
from miner_service.alignment.joining import RecordAccess
from miner_service.kinds.base import (
    JobKind,
    JobResult,
    PreparedJob,
    ReleaseContent,
    render,
    write_document,
)
from miner_service.settings import Limits
from pramana_core.alike import did_you_mean
from pramana_core.errors import (
    Conflict,
    DomainError,
    ModelError,
    NotFound,
    VariablesMissing,
    require_at_most,
)
from pramana_core.learn.common.distributions import stream
from pramana_core.learn.common.worth import Figure, Worth
from pramana_core.marginals.score_interval import normal_quantile
from pramana_core.marginals.tables import LEVEL
from pramana_core.mixed import MixedTable
from pramana_core.model_sharing.attributes import CategoricalAttribute, TreeSchema
from pramana_core.model_sharing.combine_options import CombineOptions
from pramana_core.model_sharing.exchange.documents import (
    LONGEST_TEXT,
    TreeDocument,
    model_json,
    read_model_json,
)
from pramana_core.model_sharing.exchange.drawing import draw_shared_tree
from pramana_core.model_sharing.exchange.text import write_model_text
from pramana_core.model_sharing.generating import GenerationOptions, generate
from pramana_core.model_sharing.global_models.combining import combine, pseudo_data
from pramana_core.model_sharing.global_models.common_schema import common_schema, in_schema
from pramana_core.model_sharing.global_models.measures import class_match, path_match
from pramana_core.model_sharing.global_models.model import GlobalModel
from pramana_core.model_sharing.growing import require_installed
from pramana_core.model_sharing.tree import Leaf, SharedTree
from pramana_core.progress import Progress
from pramana_core.rounding import rounded_up
from pramana_core.wire.jobs import ModelSharingSpec
from pramana_core.wire.models import ModelSharingMessage, UsedTreeMessage, WorthMessage
from pramana_core.wire.release_kinds import KINDS, SHARED_TREE, SharedTreeMessage
from pramana_core.wire.releases import Alignment

MOST_NUMBERS = 100_000_000
"""The maximum size of the pseudo-data: records times columns. Each category is a column."""

MOST_CELLS = 20_000_000
"""The maximum number of cells of a table with the classes as rows."""

MOST_DRAWN = 200_000
"""The maximum product of leaves and classes for which a tree has a picture."""

COMPARED = 20_000
"""The maximum number of records for comparing a model with a tree."""

FEWER = "Name fewer owners, or ask them to prune their trees further."


@dataclass(frozen=True)
class TreeSource:
    """A released tree that a job uses, with its owner, its release and its message."""

    owner: str
    release: str
    model: SharedTreeMessage

    @property
    def tree(self) -> TreeDocument:
        """The tree. Raises Conflict if its release was withdrawn."""
        if self.model.tree is None:
            raise Conflict(f"The tree of {self.owner} was withdrawn.", where=self.release)
        return self.model.tree


@dataclass(frozen=True)
class ModelsJob(PreparedJob):
    """A job on shared trees that can run."""

    used: tuple[TreeSource, ...]


def _columns(schema: TreeSchema) -> int:
    return sum(
        len(a.categories) if isinstance(a, CategoricalAttribute) else 1 for a in schema.attributes
    )


def _records_to_compare(
    options: CombineOptions, trees: Sequence[SharedTree], schema: TreeSchema
) -> MixedTable:
    width = len(schema.names) + schema.classes
    records = max(1, min(COMPARED, MOST_CELLS // width))
    if options.draws:
        counted = sum(tree.records for tree in trees)
        if (options.pseudo_records or counted * options.scale) > records:
            options = replace(options, pseudo_records=records, scale=1.0)
        return pseudo_data(trees, options, stream(options.seed))
    evenly = GenerationOptions(method="basegen", records=records)
    return generate(SharedTree(schema, Leaf(0, 0, 0)), stream(options.seed), evenly)


def _compare(
    source: TreeSource, tree: SharedTree, model: GlobalModel, records: MixedTable
) -> UsedTreeMessage:
    alike = class_match(model, in_schema(tree, model.schema), records)
    return UsedTreeMessage(
        release=source.release,
        owner=source.owner,
        paths=len(tree.leaves),
        counted=tree.records,
        requirement=source.model.requirement,
        counts=source.model.counts,
        epsilon=source.model.epsilon,
        class_match=alike.value,
        class_match_se=alike.standard_error,
        path_match=path_match(tree, model) if isinstance(model, SharedTree) else None,
    )


def _worth(compared: Sequence[UsedTreeMessage]) -> Worth:
    """Return the assessment of a model: how often it agrees with each tree."""
    figures = []
    for tree in compared:
        half = normal_quantile(LEVEL) * tree.class_match_se
        ends = max(tree.class_match - half, 0.0), min(tree.class_match + half, 1.0)
        figures.append(Figure(f"same class as the tree of {tree.owner}", tree.class_match, *ends))
    words = "Not scored: trees come without records on which to test a model."
    return Worth(words, tuple(figures))


def _model(message: ModelSharingMessage) -> GlobalModel:
    return read_model_json(write_document(message))


def _draw(message: ModelSharingMessage) -> str:
    picture = _picture(_model(message))
    if picture is None:
        raise NotFound(
            "The model has no picture: it is not a tree, or has too many leaves.",
            where="svg",
            remedy="Read the model as text or document.",
        )
    return picture


def _picture(model: GlobalModel) -> str | None:
    """Return the picture of a tree; None for a very large tree or for a model of another kind."""
    if isinstance(model, SharedTree) and len(model.leaves) * model.schema.classes <= MOST_DRAWN:
        return draw_shared_tree(model).svg()
    return None


def _page(message: ModelSharingMessage) -> str:
    model = _model(message)
    return render(
        "sharing.html.j2",
        message,
        learned=model,
        schema=model.schema,
        picture=_picture(model),
        text=write_model_text(model),
        drawn=bool(message.pseudo_records),
        promised=_guarantees,
    )


def _guarantees(used: UsedTreeMessage) -> str:
    promises = []
    if used.requirement is not None:
        promises.append(str(used.requirement))
    if used.epsilon is not None:
        promises.append(f"epsilon {rounded_up(used.epsilon)}")
    return "; ".join(promises) or "nothing"


def _choose_trees(
    spec: ModelSharingSpec, released: Sequence[ReleaseContent], study: str
) -> list[ReleaseContent]:
    there = {source.owner for source, _ in released}
    if absent := sorted(set(spec.owners or ()) - there):
        raise VariablesMissing(
            f"No shared tree of {', '.join(absent)} is in use in study"
            f" {study}{did_you_mean(absent, there)}.",
            where="owners",
            remedy=f"The owners of trees in use are {sorted(there)}.",
        )
    named = [one for one in released if spec.owners is None or one[0].owner in spec.owners]
    targets = {source.owner: str(model.tree.target.name) for source, model in named}
    classes = sorted(set(targets.values()))
    if spec.target is None:
        if len(classes) > 1:
            raise Conflict(
                f"The trees predict different classes: {classes}.",
                where="target",
                remedy="Name one of these classes in `target`.",
            )
        return named
    found = [one for one in named if targets[one[0].owner] == spec.target]
    if not found or (spec.owners is not None and len(found) < len(named)):
        raise VariablesMissing(
            f"{'Not every' if found else 'No'} tree predicts {spec.target!r}.",
            where="target",
            remedy=f"The classes that trees in use predict are {classes}.",
        )
    return found


class ModelSharingKind(JobKind[ModelSharingSpec, ModelsJob, ModelSharingMessage]):
    """Jobs on shared trees, which need no records."""

    release_kind = SHARED_TREE
    spec, message = ModelSharingSpec, ModelSharingMessage
    views: ClassVar = {
        "page": _page,
        "svg": _draw,
        "text": lambda message: write_model_text(_model(message)),
        "document": write_document,
    }

    def prepare(
        self,
        spec: ModelSharingSpec,
        released: Sequence[ReleaseContent],
        alignment: Alignment,
        limits: Limits,
        _aligner: Aligner,
    ) -> ModelsJob:
        """Check that a job can run. Raises VariablesMissing, Conflict, LimitExceeded."""
        self.check(spec)
        if spec.owners is None and alignment.missing:
            raise Conflict(
                f"Not every owner has a release in use: {alignment.missing} have none.",
                where="owners",
                remedy="Wait for these owners, list the owners of trees to use in `owners`, or"
                " remove the owners that will not take part.",
            )
        if not released:
            raise VariablesMissing(
                f"No shared tree is in use in study {alignment.study}.",
                where="kind",
                remedy=f"Ask an owner to publish one with `{KINDS[SHARED_TREE].command}`.",
            )
        chosen = _choose_trees(spec, released, alignment.study)
        used = tuple(TreeSource(source.owner, source.release, model) for source, model in chosen)
        schemas = [source.tree.tree_schema() for source in used]
        try:
            # Trees with one leaf suffice to compare the schemas.
            bare = [SharedTree(schema, Leaf(0, 0, 0)) for schema in schemas]
            common_schema(bare, [source.owner for source in used])
        except (DomainError, ModelError) as error:
            raise Conflict(
                f"The trees cannot be combined: {error.message}",
                where=error.where,
                remedy="Ask all owners for trees with the same class, attributes and categories, or"
                " list the owners of compatible trees in `owners`.",
            ) from error
        self.require_affordable(spec.options(), used, schemas, limits)
        return ModelsJob(tuple(source for source, _ in chosen), alignment, used)

    def learned(
        self,
        spec: ModelSharingSpec,
        prepared: ModelsJob,
        _access: RecordAccess,
        on_step: Progress,
    ) -> JobResult:
        """Combine the trees of a job. Raises ModelError, LimitExceeded."""
        options, trees = spec.options(), []
        for source in prepared.used:
            on_step(0, 1)
            trees.append(source.model.to_tree())
        owners = [source.owner for source in prepared.used]
        made = combine(trees, options, stream(options.seed), on_step, owners=owners)
        records = _records_to_compare(options, trees, made.model.schema)
        compared = [
            _compare(source, tree, made.model, records)
            for source, tree in zip(prepared.used, trees, strict=True)
        ]
        on_step(1, 1)
        document = model_json(made.model)
        length = len(json.dumps(document, ensure_ascii=False).encode())
        remedy = "Name fewer owners, or choose a smaller tree."
        require_at_most(length, LONGEST_TEXT, "bytes of the model's JSON", "document", remedy)
        content = {
            "trees": compared,
            "pseudo_records": made.pseudo_records,
            "notes": list(made.notes),
            "holds_releases": not options.draws,
            "worth": WorthMessage.of(_worth(compared)),
            "document": document,
        }
        return JobResult(round(made.records), content)

    def check(self, spec: ModelSharingSpec) -> None:
        options = spec.options()
        if options.draws and options.model == "tree":
            require_installed()

    def require_affordable(
        self,
        options: CombineOptions,
        used: Sequence[TreeSource],
        schemas: Sequence[TreeSchema],
        limits: Limits,
    ) -> None:
        """Check the sizes of the pseudo-data and of the model. Raises LimitExceeded."""
        paths = [path for source in used for path in source.tree.leaves]
        require_at_most(len(paths), limits.model_parameters, "paths of trees", "owners", FEWER)
        columns = max(map(_columns, schemas))
        classes = len({label for schema in schemas for label in schema.target.categories})
        numbers = classes * (len(paths) + columns)
        require_at_most(numbers, MOST_CELLS, "cells of classes by paths", "owners", FEWER)
        if options.draws:
            counted = sum(path.hit + path.miss for path in paths)
            records = round(options.pseudo_records or counted * options.scale)
            remedy = f"Choose at most {MOST_NUMBERS // columns:,} pseudo-records."
            require_at_most(
                records * columns, MOST_NUMBERS, "pseudo-data", "pseudo_records", remedy
            )
