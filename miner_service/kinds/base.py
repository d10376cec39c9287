"""What the miner must know of a kind of job, and of the kind of model that it makes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from miner_service.kinds.affordability import RecordLayout
from miner_service.settings import Limits
from shared.domain import Domain
from shared.marginals.counts import Marginals
from shared.progress import Progress
from shared.wire.learning.counting import CountsSpec
from shared.wire.learning.models import ModelHead

if TYPE_CHECKING:
    from shared.learn.networks.exchange.documents import NetworkDocument
    from shared.learn.prediction import Predictor

Content = dict[str, Any]
"""What a model's message says besides its head."""

SpecT = TypeVar("SpecT", bound=CountsSpec)
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
    """

    message: type[MessageT]
    views: Mapping[str, ModelView[MessageT]]
    network: Callable[[MessageT], NetworkDocument] | None = None
    predictor: Callable[[MessageT], Predictor] | None = None

    @property
    def name(self) -> str:
        """The `kind` of the messages."""
        return str(self.message.model_fields["kind"].default)

    @property
    def offers(self) -> tuple[str, ...]:
        """What follows the address of a model of this kind."""
        asked = ("queries", "samples") if self.network else ()
        return (*self.views, *asked, *(("predictions",) if self.predictor else ()))


@dataclass(frozen=True)
class JobKind(Generic[SpecT]):
    """A kind of job.

    Attributes:
        spec: what is asked for.
        model: the kind of model it makes.
        check: raises what is wrong with a specification, whatever the records are.
        variables: the variables it counts, given all that are reported; may raise.
        require_affordable: raises LimitExceeded if what is asked of these variables is too much.
        learn: does the work. The `Marginals` are over the variables, in their order.
    """

    spec: type[SpecT]
    model: ModelKind[Any]
    variables: Callable[[SpecT, Domain], tuple[str, ...]]
    require_affordable: Callable[[SpecT, tuple[str, ...], RecordLayout, Limits], None]
    learn: Callable[[SpecT, Marginals, Progress], Content]
    check: Callable[[SpecT], object] = field(default=lambda _spec: None)


def part_of(on_step: Progress, start: int, length: int) -> Progress:
    """Report a part of a job as its share of the whole, in hundredths; a search may step back."""
    furthest = start

    def step(done: int, total: int) -> None:
        nonlocal furthest
        furthest = max(furthest, start + length * done // max(total, 1))
        on_step(furthest, 100)

    return step
