"""The base class of the kinds of jobs, which prepares a job, runs it, and writes its model.

`prepare` decides from metadata whether a job can run, when the job is created and when it starts.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

from jinja2 import Environment, PackageLoader, StrictUndefined

from miner_service.alignment.align import AlignedSource, Aligner
from miner_service.alignment.joining import RecordAccess
from miner_service.settings import Limits
from pramana_core.errors import Conflict
from pramana_core.learn.common.documents import write_json
from pramana_core.pictures.svg import captioned
from pramana_core.progress import Progress
from pramana_core.rounding import rounded_up
from pramana_core.wire.base import Message
from pramana_core.wire.models import LackOfFitMessage, ModelHead
from pramana_core.wire.release_kinds import ReleaseKindName
from pramana_core.wire.releases import Alignment

Content = dict[str, Any]
"""The fields of a model's message after its head."""

ReleaseContent = tuple[AlignedSource, Any]
"""A sealed release as a source of records, and its content: a plan or a masked table."""


@dataclass(frozen=True)
class PreparedJob:
    """A job that can run: its releases and the alignment of their records."""

    sources: tuple[AlignedSource, ...]
    alignment: Alignment

    @property
    def columns(self) -> int:
        """The count of columns that the job learns from; 0 if it does not learn from columns."""
        return 0

    @property
    def copied(self) -> list[str]:
        """Warnings, one for each pair of identical releases in use."""
        used = {source.release for source in self.sources}
        return [one.told for one in self.alignment.same if used.issuperset(one.releases)]


@dataclass(frozen=True)
class JobResult:
    """A model's content, its count of records, and which tables were composed from smaller ones."""

    records: int
    content: Content
    lack_of_fit: tuple[LackOfFitMessage, ...] = ()
    filled_in: tuple[tuple[str, ...], ...] = ()


SpecT = TypeVar("SpecT", bound=Message)
PreparedT = TypeVar("PreparedT", bound=PreparedJob)
MessageT = TypeVar("MessageT", bound=ModelHead)

_MEDIA = {"page": "text/html", "svg": "image/svg+xml", "document": "application/json"}


def media_type_of(form: str) -> str:
    """Return the media type of a form of a model, such as `svg`."""
    return _MEDIA.get(form, "text/csv" if form.endswith("csv") else "text/plain")


class JobKind(ABC, Generic[SpecT, PreparedT, MessageT]):
    """A kind of job on releases of one `release_kind`, and the kind of model that it produces."""

    release_kind: ClassVar[ReleaseKindName]
    spec: type[SpecT]
    message: type[MessageT]
    views: ClassVar[Mapping[str, Callable[[Any], str]]]

    @property
    def makes(self) -> str:
        """The `kind` of the resulting models."""
        return str(self.message.model_fields["kind"].default)

    def check(self, spec: SpecT) -> None:
        """Check a specification as far as possible without releases, and raise the first error."""

    @abstractmethod
    def prepare(
        self,
        spec: SpecT,
        released: Sequence[ReleaseContent],
        alignment: Alignment,
        limits: Limits,
        aligner: Aligner,
    ) -> PreparedT:
        """Check that a job can run on these releases, all of the kind `release_kind`."""

    def settled(self, spec: SpecT, prepared: PreparedT) -> SpecT:  # noqa: ARG002
        """Return the specification with all open options chosen, for a job that can run."""
        return spec

    @abstractmethod
    def learned(
        self,
        spec: SpecT,
        prepared: PreparedT,
        access: RecordAccess,
        on_step: Progress,
    ) -> JobResult:
        """Compute a job. Raises EstimationError, SingularChannel, TableError, LimitExceeded."""


def require_one_owner(variables: Iterable[tuple[str, str]], alignment: Alignment) -> None:
    """Check that only one owner reports each variable. Raises Conflict."""
    owners: dict[str, list[str]] = {}
    for name, owner in variables:
        owners.setdefault(name, []).append(owner)
    twice = {name: found for name, found in sorted(owners.items()) if len(found) > 1}
    if twice:
        listed = "; ".join(f"{name} ({', '.join(found)})" for name, found in twice.items())
        raise Conflict(
            f"More than one owner reports these variables for the same records: {listed}."
            + copies_in_words(alignment),
            where=", ".join(twice),
            remedy="Rename the variable at all owners but one. If the owners have different people,"
            ' set the option records to "any".',
        )


def copies_in_words(alignment: Alignment) -> str:
    """Return a sentence for each pair of identical releases."""
    return "".join(f" {one.told}" for one in alignment.same)


def write_document(message: Any) -> str:
    """Return a model's document as JSON text."""
    return write_json(message.document)


def render(template: str, model: ModelHead, **shown: Any) -> str:
    """Return a model's HTML page. `shown` has the variables of the file in `templates`."""
    environment = Environment(
        loader=PackageLoader("miner_service.kinds"), autoescape=True, undefined=StrictUndefined
    )
    amplification = model.told.to_amplification()
    worth = model.worth and model.worth.to_worth()
    return environment.get_template(template).render(
        model=model,
        told=amplification,
        worth=worth,
        infinite=math.isinf,
        rounded_up=rounded_up,
        **shown,
    )


def in_words(model: ModelHead) -> str:
    """Return a sentence on what a model's releases disclose about one person."""
    amplification = model.told.to_amplification()
    learned = f"Learned from {model.records:,} records"
    if math.isinf(amplification.epsilon):
        return f"{learned}; no gamma bounds what they disclose about a person."
    words = f"{learned}; whole record: {amplification.told}"
    if model.central is None or model.central.epsilon is None:
        return f"{words}."
    return f"{words}, {model.central.description}."


def stated(model: ModelHead, form: str, written: str) -> str:
    """Return a model in some form. Texts and pictures also state its assessment and disclosures."""
    words, worth = in_words(model), model.worth and model.worth.to_worth()
    if form == "svg":
        return captioned(written, f"{worth.verdict} {words}" if worth else words)
    if form != "text":
        return written
    weighed = "\n".join(filter(None, [worth.words, worth.supposes])) if worth else ""
    return "\n\n".join(filter(None, [written.rstrip(), weighed, f"{words}\n"]))
