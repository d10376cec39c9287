"""Models made of the trees that owners released."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice

from miner_service.kinds.common.base import (
    Content,
    ModelJobKind,
    ModelKind,
    ModelView,
    SharedTrees,
    TreeSource,
)
from miner_service.kinds.common.page import render
from miner_service.kinds.common.predicting import read_document, write_document
from miner_service.settings import Limits
from shared.errors import LimitExceeded, NotFound
from shared.learn.common.resampling import stream
from shared.mixed.table import MixedTable
from shared.model_sharing.combination.combining import combine, pseudo_chunks
from shared.model_sharing.combination.pooled import together
from shared.model_sharing.combination.schemas import in_schema
from shared.model_sharing.core.attributes import CategoricalAttribute, TreeSchema
from shared.model_sharing.core.tree import Leaf, SharedTree
from shared.model_sharing.exchange.drawing import draw_shared_tree
from shared.model_sharing.exchange.models import model_json, read_model_json
from shared.model_sharing.exchange.text import write_model_text
from shared.model_sharing.generation.generating import generate
from shared.model_sharing.generation.options import GenerationOptions
from shared.model_sharing.global_models.measures import class_match, path_match
from shared.model_sharing.global_models.model import GlobalModel, TreeModel
from shared.model_sharing.growing.growing import require_installed
from shared.progress import Progress
from shared.wire.learning.models import ModelSharingMessage
from shared.wire.learning.sharing import ModelSharingSpec, UsedTreeMessage

MOST_NUMBERS = 200_000_000
"""Of pseudo-data: records times columns, a category being a column of its own."""

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
    if not options.draws:
        return
    counted = sum(path.hit + path.miss for document in documents for path in document.paths)
    records = spec.pseudo_records or counted * spec.scale
    columns = max(_columns(document.tree_schema()) for document in documents)
    if records * columns > MOST_NUMBERS:
        raise LimitExceeded(
            f"{records:,.0f} pseudo-records of {columns:,} columns, each category one, are"
            f" {records * columns:,.0f} numbers; {MOST_NUMBERS:,} are allowed.",
            where="pseudo_records",
            remedy=f"Ask for at most {MOST_NUMBERS // columns:,} pseudo-records.",
        )


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
    return round(made.records), {
        "trees": used,
        "pseudo_records": made.pseudo_records,
        "notes": list(made.notes),
        "holds_releases": not options.draws,
        "document": model_json(made.model),
    }


def _compared(
    spec: ModelSharingSpec, trees: Sequence[SharedTree], schema: TreeSchema
) -> MixedTable:
    """Return the records by which a model and the trees are compared: no true ones are here.

    Of pseudo-data, where there are too many, so many are drawn anew, shared out by the trees'
    counts: the first of those learned from would be one owner's.
    """
    options = spec.options()
    if options.draws:
        asked = options.drawing
        counted = sum(tree.records for tree in trees)
        if (counted * asked.scale if asked.records is None else asked.records) > COMPARED:
            options = replace(options, generation=replace(asked, records=COMPARED))
        return together(list(pseudo_chunks(trees, options, stream(options.seed))))
    evenly = GenerationOptions(method="basegen", records=COMPARED)
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
    return _picture(_model(message))


def _picture(model: GlobalModel) -> str:
    """Draw a model that is a tree. Raises NotFound."""
    if not isinstance(model, TreeModel):
        raise NotFound(
            f"A model that is no single tree ({model.kind}) has no picture.",
            where="svg",
            remedy="Read its page, text or document.",
        )
    return draw_shared_tree(model.tree)


def _page(message: ModelSharingMessage) -> str:
    model = _model(message)
    return render(
        "sharing.html.j2",
        message,
        learned=model,
        schema=model.schema,
        picture=_picture(model) if isinstance(model, TreeModel) else None,
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
    learn=_learn,
    check=_check,
)
"""The kind of the job `model-sharing`."""
