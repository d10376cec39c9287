"""Models made of the trees that owners released."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

from miner_service.kinds.common.affordability import read_document, write_document
from miner_service.kinds.common.base import (
    Content,
    ModelJobKind,
    ModelKind,
    ModelView,
    SharedTrees,
    TreeSource,
    render,
)
from miner_service.kinds.common.costs import Less, Work, lower
from miner_service.settings import Limits
from pramana_core.errors import LimitExceeded, NotFound
from pramana_core.learn.common.documents import stream
from pramana_core.mixed.table import MixedTable
from pramana_core.model_sharing.combination.combining import combine, pseudo_chunks
from pramana_core.model_sharing.combination.schemas import in_schema
from pramana_core.model_sharing.combination.votes import VotesModel, together
from pramana_core.model_sharing.core.attributes import CategoricalAttribute, TreeSchema
from pramana_core.model_sharing.core.tree import Leaf, SharedTree
from pramana_core.model_sharing.exchange.documents import LONGEST_TEXT
from pramana_core.model_sharing.exchange.drawing import draw_model
from pramana_core.model_sharing.exchange.models import model_json, read_model_json
from pramana_core.model_sharing.exchange.text import write_model_text
from pramana_core.model_sharing.generation.generating import generate
from pramana_core.model_sharing.generation.options import GenerationOptions
from pramana_core.model_sharing.global_models.model import (
    ForestModel,
    GlobalModel,
    TreeModel,
    class_match,
    path_match,
)
from pramana_core.model_sharing.growing.growing import require_installed
from pramana_core.progress import Progress
from pramana_core.wire.learning.learners import ModelSharingSpec, UsedTreeMessage
from pramana_core.wire.learning.models import ModelSharingMessage

MOST_NUMBERS = 100_000_000
"""Of pseudo-data: records times columns, a category being a column of its own."""

MOST_CELLS = 20_000_000
"""Of the tables that tell all classes of each path, each category or each record compared."""

MOST_DRAWN = 200_000
"""Leaves times classes of a picture."""

COMPARED = 20_000
"""Of so many records at most it is counted how often a model and a tree agree."""

_LEARNED_BY_SKLEARN = ("tree", "forest")


def _check(spec: ModelSharingSpec) -> None:
    options = spec.options()
    if options.draws and options.model in _LEARNED_BY_SKLEARN:
        require_installed()


def _require_affordable(spec: ModelSharingSpec, used: Sequence[TreeSource], limits: Limits) -> None:
    """Bound the numbers of the pseudo-data, and what a model may be. Raises LimitExceeded."""
    options = spec.options()
    documents = [source.model.tree for source in used if source.model.tree is not None]
    paths = sum(len(document.paths) for document in documents)
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


def _work(spec: ModelSharingSpec, used: Sequence[TreeSource]) -> Work:
    options = spec.options()
    documents = [source.model.tree for source in used if source.model.tree is not None]
    paths = sum(len(document.paths) for document in documents)
    columns = max(_columns(document.tree_schema()) for document in documents)
    records = _pseudo_records(spec, used) if options.draws else float(COMPARED)
    trees = options.learning.trees if options.model == "forest" and options.draws else 1
    work = Work({"paths": paths * len(used), "drawn": records * columns}, 48 * records * columns)
    if options.draws:
        work += Work({"grown": records * columns * trees})
    return work


def _less(spec: ModelSharingSpec, used: Sequence[TreeSource]) -> Iterator[Less[ModelSharingSpec]]:
    if spec.options().draws:
        yield lower(
            int(_pseudo_records(spec, used)),
            "pseudo_records",
            lambda most: spec.model_copy(update={"pseudo_records": most}),
        )


def _pseudo_records(spec: ModelSharingSpec, used: Sequence[TreeSource]) -> float:
    documents = [source.model.tree for source in used if source.model.tree is not None]
    counted = sum(path.hit + path.miss for document in documents for path in document.paths)
    return spec.pseudo_records or counted * spec.scale


def _columns(schema: TreeSchema) -> int:
    return sum(
        len(a.categories) if isinstance(a, CategoricalAttribute) else 1 for a in schema.attributes
    )


def _learn(spec: ModelSharingSpec, shared: SharedTrees, on_step: Progress) -> tuple[int, Content]:
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


def _require_readable(document: Mapping[str, Any]) -> None:
    """Check that a model is not longer than what is read again. Raises LimitExceeded."""
    length = len(json.dumps(document, ensure_ascii=False).encode())
    if length > LONGEST_TEXT:
        raise LimitExceeded(
            f"The model has {length:,} bytes of JSON; {LONGEST_TEXT:,} are allowed.",
            where="document",
            remedy="Name fewer owners, or ask for fewer trees, or for smaller ones.",
        )


def _compared(
    spec: ModelSharingSpec, trees: Sequence[SharedTree], schema: TreeSchema
) -> MixedTable:
    """Return the records by which a model and the trees are compared: no true ones are here.

    Of pseudo-data, where there are too many, so many are drawn anew, shared out by the trees'
    counts: the first of those learned from would be one owner's.
    """
    options = spec.options()
    width = len(schema.names) + schema.classes
    records = max(1, min(COMPARED, MOST_CELLS // width))
    if options.draws:
        asked = options.drawing
        counted = sum(tree.records for tree in trees)
        if (counted * asked.scale if asked.records is None else asked.records) > records:
            options = replace(options, generation=replace(asked, records=records))
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
            f"A model of {_leaves(model):,} leaves that count {model.schema.classes:,} classes each"
            " is too large for a picture.",
            where="svg",
            remedy="Read its text or document.",
        )
    return draw_model(model)


def _drawable(model: GlobalModel) -> bool:
    """Whether a model is small enough for a picture."""
    return _leaves(model) * model.schema.classes <= MOST_DRAWN


def _leaves(model: GlobalModel) -> int:
    """Return how many leaves the trees of a model have; 0 of one that is not made of trees."""
    if isinstance(model, TreeModel):
        return len(model.tree.leaves)
    trees = model.trees if isinstance(model, ForestModel | VotesModel) else ()
    return sum(len(tree.leaves) for tree in trees)


def _page(message: ModelSharingMessage) -> str:
    model = _model(message)
    return render(
        "sharing.html.j2",
        message,
        learned=model,
        schema=model.schema,
        picture=draw_model(model) if _drawable(model) else None,
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


MODEL_SHARING = ModelKind(
    ModelSharingMessage,
    {
        "page": ModelView("text/html", _page),
        "svg": ModelView("image/svg+xml", _draw),
        "text": ModelView("text/plain", lambda message: write_model_text(_model(message))),
        "document": ModelView("application/json", write_document),
    },
    classifier=_model,
    pseudo_data=_pseudo_data,
)

SHARING = ModelJobKind(
    ModelSharingSpec,
    MODEL_SHARING,
    require_affordable=_require_affordable,
    work=_work,
    less=_less,
    learn=_learn,
    check=_check,
)
"""The kind of the job `model-sharing`."""
