"""What the miner must know of a kind of job, and of the kind of model that it makes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from jinja2 import Environment, PackageLoader, StrictUndefined

from miner_service.kinds.common.affordability import RecordLayout
from miner_service.kinds.common.costs import Less, Work
from miner_service.settings import Limits
from pramana_core.domain import Domain
from pramana_core.marginals.counts import Marginals
from pramana_core.mixed.table import MixedTable
from pramana_core.model_sharing.core.tree import SharedTree
from pramana_core.pictures.svg import captioned
from pramana_core.progress import Progress
from pramana_core.wire.learning.learners import CountsSpec, ModelSharingSpec, RecordsSpec
from pramana_core.wire.learning.models import ModelHead
from pramana_core.wire.releases.base import KNOWLEDGE, MASKED, RANDOMIZED, ReleaseKindName
from pramana_core.wire.releases.knowledge import KnowledgeModelMessage
from pramana_core.wire.releases.masked import MaskedTableMessage, TableColumn

if TYPE_CHECKING:
    from pramana_core.learn.networks.exchange.documents import NetworkDocument
    from pramana_core.learn.prediction import Predictor
    from pramana_core.model_sharing.global_models.model import GlobalModel


Content = dict[str, Any]
"""What a model's message says besides its head."""

SpecT = TypeVar("SpecT", bound=CountsSpec)
ModelSpecT = TypeVar("ModelSpecT", bound=ModelSharingSpec)
TableSpecT = TypeVar("TableSpecT", bound=RecordsSpec)
MessageT = TypeVar("MessageT", bound=ModelHead)


@dataclass(frozen=True)
class ModelView(Generic[MessageT]):
    """A form in which a model can be read: its media type and how it is written."""

    media_type: str
    write: Callable[[MessageT], str]


@dataclass(frozen=True)
class ModelKind(Generic[MessageT]):
    """A kind of model.

    Attributes:
        message: what is stored and answered.
        views: the forms it can be read in, by the last part of their address.
        network: the network to ask and to draw records from, where the model is one.
        predictor: what predicts a class from records, where the model does.
        classifier: what does so from records of numbers and categories.
        pseudo_data: what draws the pseudo-data that it was learned from, chunk by chunk, from the
            trees it was made of; where it may be.
    """

    message: type[MessageT]
    views: Mapping[str, ModelView[MessageT]]
    network: Callable[[MessageT], NetworkDocument] | None = None
    predictor: Callable[[MessageT], Predictor] | None = None
    classifier: Callable[[MessageT], GlobalModel] | None = None
    pseudo_data: Callable[[MessageT, Sequence[SharedTree]], Iterator[MixedTable]] | None = None

    @property
    def name(self) -> str:
        """The `kind` of the messages."""
        return str(self.message.model_fields["kind"].default)

    @property
    def offers(self) -> tuple[str, ...]:
        """What follows the address of a model of this kind."""
        asked = ("queries", "samples") if self.network else ()
        predicts = ("predictions",) if self.predictor or self.classifier else ()
        return (*self.views, *asked, *predicts, *(("pseudo-data",) if self.pseudo_data else ()))


@dataclass(frozen=True)
class JobKind(Generic[SpecT]):
    """A kind of job that learns from counts, estimated from randomized records.

    Attributes:
        spec: what is asked for.
        model: the kind of model it makes.
        check: raises what is wrong with a specification, whatever the records are.
        variables: the variables it counts, given all that are reported; may raise.
        require_affordable: raises LimitExceeded if what is asked of these variables is too much.
        work: how much work it is, of these variables and so many records.
        less: the ways to ask for less of it.
        learn: does the work. The `Marginals` are over the variables, in their order.
    """

    release_kind: ClassVar[ReleaseKindName] = RANDOMIZED

    spec: type[SpecT]
    model: ModelKind[Any]
    variables: Callable[[SpecT, Domain], tuple[str, ...]]
    require_affordable: Callable[[SpecT, tuple[str, ...], RecordLayout, Limits], None]
    work: Callable[[SpecT, tuple[str, ...], RecordLayout, int], Work]
    less: Callable[[SpecT, tuple[str, ...], RecordLayout], Iterable[Less[Any]]]
    learn: Callable[[SpecT, Marginals, Progress], Content]
    check: Callable[[SpecT], object] = field(default=lambda _spec: None)


@dataclass(frozen=True)
class MaskedSource:
    """A masked release that a job uses: whose, which, and what its owner says of it."""

    owner: str
    release: str
    table: MaskedTableMessage


@dataclass(frozen=True)
class MaskedTables:
    """The records of a job on masked releases: one table per masked copy, all of one form.

    Attributes:
        copies: as many as every owner released; the columns are the job's variables, in order.
        sources: the releases they are from.
    """

    copies: Sequence[MixedTable]
    sources: Sequence[MaskedSource]


@dataclass(frozen=True)
class TableExtent:
    """How much a job on masked releases would hold: known before anything is read."""

    columns: tuple[TableColumn, ...]
    records: int
    copies: int


@dataclass(frozen=True)
class TableJobKind(Generic[TableSpecT]):
    """A kind of job that learns from masked records, taken as they are.

    Attributes:
        spec: what is asked for.
        model: the kind of model it makes.
        variables: those it needs, given all columns that are released; may raise. What it names
            and nobody released is refused for it.
        require_affordable: raises LimitExceeded if what is asked of so much is too much.
        work: how much work it is.
        less: the ways to ask for less of it.
        learn: does the work on the variables, in their order.
        check: raises what is wrong with a specification, whatever the records are.
    """

    release_kind: ClassVar[ReleaseKindName] = MASKED

    spec: type[TableSpecT]
    model: ModelKind[Any]
    variables: Callable[[TableSpecT, Sequence[TableColumn]], tuple[str, ...]]
    require_affordable: Callable[[TableSpecT, TableExtent, Limits], None]
    work: Callable[[TableSpecT, TableExtent], Work]
    less: Callable[[TableSpecT, TableExtent], Iterable[Less[Any]]]
    learn: Callable[[TableSpecT, MaskedTables, Progress], Content]
    check: Callable[[TableSpecT], object] = field(default=lambda _spec: None)


@dataclass(frozen=True)
class TreeSource:
    """A released tree that a job uses: whose, which, and what its owner says of it."""

    owner: str
    release: str
    model: KnowledgeModelMessage


@dataclass(frozen=True)
class SharedTrees:
    """The trees of a job on knowledge models, and the releases they are from, in one order."""

    trees: Sequence[SharedTree]
    sources: Sequence[TreeSource]


@dataclass(frozen=True)
class ModelJobKind(Generic[ModelSpecT]):
    """A kind of job that learns from knowledge models, without any records.

    Attributes:
        spec: what is asked for.
        model: the kind of model it makes.
        require_affordable: raises LimitExceeded if what is asked of these trees is too much.
        work: how much work it is.
        less: the ways to ask for less of it.
        learn: does the work; its content has the `records` that the trees count.
        check: raises what is wrong with a specification, whatever the trees are.
    """

    release_kind: ClassVar[ReleaseKindName] = KNOWLEDGE

    spec: type[ModelSpecT]
    model: ModelKind[Any]
    require_affordable: Callable[[ModelSpecT, Sequence[TreeSource], Limits], None]
    work: Callable[[ModelSpecT, Sequence[TreeSource]], Work]
    less: Callable[[ModelSpecT, Sequence[TreeSource]], Iterable[Less[Any]]]
    learn: Callable[[ModelSpecT, SharedTrees, Progress], tuple[int, Content]]
    check: Callable[[ModelSpecT], object] = field(default=lambda _spec: None)


def part_of(on_step: Progress, start: int, length: int) -> Progress:
    """Report a part of a job as its share of the whole, in hundredths; a search may step back."""
    furthest = start

    def step(done: int, total: int) -> None:
        nonlocal furthest
        furthest = max(furthest, start + length * done // max(total, 1))
        on_step(furthest, 100)

    return step


# A model on one page with nothing loaded: its picture, its parts and their errors.


def render(template: str, model: ModelHead, **shown: Any) -> str:
    """Return the HTML page of a model.

    Args:
        template: a file of `miner_service/kinds/templates` that extends `model.html.j2`.
        model: the model as it is answered.
        shown: what else the template names.
    """
    environment = Environment(
        loader=PackageLoader("miner_service.kinds"), autoescape=True, undefined=StrictUndefined
    )
    told = None if model.told is None else model.told.to_amplification()
    return environment.get_template(template).render(
        model=model, told=told, infinite=math.isinf, **shown
    )


# What a model's releases tell of one person, said wherever the model is shown.


def in_words(model: ModelHead) -> str:
    """Return it in a sentence; nothing of a model that was made before it was recorded."""
    if model.told is None:
        return ""
    told = model.told.to_amplification()
    learned = f"Learned from {model.records:,} records"
    if math.isinf(told.epsilon):
        return f"{learned}; no gamma bounds what these tell of a person."
    return f"{learned}; whole record: {told.told}."


def stated(model: ModelHead, form: str, written: str) -> str:
    """Return a form of a model with the sentence, where it is a picture or text for people."""
    words = in_words(model)
    if not words:
        return written
    if form == "svg":
        return captioned(written, words)
    return f"{written.rstrip()}\n\n{words}\n" if form == "text" else written
