"""What a kind of job is: how it runs on the releases in use, and how its model is read.

A kind is a class. Those that learn from counts extend `CountsKind`, those that learn from masked
records `RecordsKind`. `prepare` decides from the metadata alone whether a job can run; it is asked
when the job is created and again when it runs. `learned` does the work.

Also here:

* A model on one page with nothing loaded: its picture, its parts and their errors.
* What a model's releases tell of one person, said wherever the model is shown.
* What a job will take, told by the plans alone before it runs: work in units, and `RATES` that say
  what a unit takes on the machine they were measured on (`python -m benchmarks.costs`). It decides
  what is refused and who goes first; the limits of a running job hold whatever was predicted.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, TypeVar

from jinja2 import Environment, PackageLoader, StrictUndefined

from miner_service.alignment.align import AlignedSource, Aligner, RecordAccess
from miner_service.settings import Limits
from pramana_core.errors import Conflict, LimitExceeded
from pramana_core.pictures.svg import captioned
from pramana_core.progress import Progress
from pramana_core.wire.base import Message
from pramana_core.wire.models import LackOfFitMessage, ModelHead
from pramana_core.wire.release_kinds import ReleaseKindName
from pramana_core.wire.releases import Alignment

if TYPE_CHECKING:
    from pramana_core.learn.networks.documents import NetworkDocument
    from pramana_core.learn.prediction import Predictor
    from pramana_core.mixed import MixedTable
    from pramana_core.model_sharing.global_models.model import GlobalModel
    from pramana_core.model_sharing.tree import SharedTree

AskedT = TypeVar("AskedT")

Unit = Literal[
    "jobs",
    "counted",
    "solved",
    "likelihood",
    "tested",
    "information",
    "log-linear",
    "pooled",
    "told",
    "asked",
    "families",
    "links",
    "nodes",
    "resampled",
    "supports",
    "planes",
    "steps",
    "drawn",
    "fitted",
    "grown",
    "paths",
]

RATES: Mapping[Unit, float] = {
    "jobs": 6.7e-03,
    "counted": 8.4e-10,
    "solved": 3.3e-08,
    "likelihood": 1.6e-04,
    "tested": 4.8e-04,
    "information": 1.2e-10,
    "log-linear": 6.8e-05,
    "pooled": 2.4e-08,
    "told": 5.1e-06,
    "asked": 5.8e-04,
    "families": 3.9e-04,
    "links": 5.0e-04,
    "nodes": 1.4e-04,
    "resampled": 4.6e-08,
    "supports": 3.0e-10,
    "planes": 4.7e-06,
    "steps": 4.1e-05,
    "drawn": 1.2e-07,
    "fitted": 9.2e-09,
    "grown": 2.5e-06,
    "paths": 1.0e-05,
}
"""Seconds of one processor for a unit of each kind of work."""

PROCESS_BYTES = 250e6
"""What a worker that has loaded its learners holds before it begins."""

BOUNDS = (0.1, 10.0)
"""What a machine has seen corrects a prediction by no more than this."""

SEEN = 20
"""Of so many jobs of a kind, the last, a machine learns how it differs."""


@dataclass(frozen=True)
class Cost:
    """What a job is predicted to take: seconds of one processor, and bytes of memory."""

    seconds: float
    bytes: float

    def corrected(self, factor: float) -> Cost:
        """Return the cost on a machine that takes `factor` times as long."""
        return Cost(self.seconds * factor, self.bytes)

    def within(self, seconds: float, bytes_: float) -> bool:
        """Whether it is no more than what is allowed."""
        return self.seconds <= seconds and self.bytes <= bytes_

    def __str__(self) -> str:
        return f"{duration(self.seconds)} and {size(self.bytes)} of memory"


@dataclass(frozen=True)
class Work:
    """How much work a job is, in units, and what it holds at once in bytes."""

    units: Mapping[Unit, float] = field(default_factory=dict)
    held: float = 0.0

    def __add__(self, other: Work) -> Work:
        names = {*self.units, *other.units}
        units = {name: self.units.get(name, 0.0) + other.units.get(name, 0.0) for name in names}
        return Work(units, max(self.held, other.held))

    def times(self, number: float) -> Work:
        """Return this work done so often, one after the other."""
        return Work({name: number * much for name, much in self.units.items()}, self.held)

    def cost(self, rates: Mapping[Unit, float] = RATES) -> Cost:
        """Return what it takes."""
        units = {"jobs": 1.0, **self.units}
        seconds = sum(rates[name] * much for name, much in units.items())
        return Cost(seconds, PROCESS_BYTES + self.held)


@dataclass(frozen=True)
class Reduction(Generic[AskedT]):
    """A way to ask for less of something that there are `most` of.

    `make` returns a specification with so many, `told` says in words how many are allowed.
    """

    most: int
    make: Callable[[int], AskedT]
    told: Callable[[int], str]
    least: int = 1


def affordable_alternatives(
    ways: Iterable[Reduction[AskedT]], fits: Callable[[AskedT], bool]
) -> list[str]:
    """Return, for each way to ask for less that helps, how much of it fits.

    Args:
        ways: of the specification that does not fit.
        fits: whether a specification does.
    """
    found = []
    for way in ways:
        low, high = way.least - 1, way.most
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if fits(way.make(middle)) else (low, middle)
        if low >= way.least:
            found.append(way.told(low))
    return found


def fewer(names: Collection[str], what: str, make: Callable[[int], AskedT]) -> Reduction[AskedT]:
    """Return the way to ask for less by naming fewer of some variables."""
    return Reduction(len(names), make, lambda most: f"of these {len(names)} {what} at most {most}")


def lower(now: int, what: str, make: Callable[[int], AskedT], least: int = 1) -> Reduction[AskedT]:
    """Return the way to ask for less by a smaller number."""
    return Reduction(now, make, lambda most: f"`{what}` of at most {most:,}", least)


def correction(ratios: Sequence[float]) -> float:
    """Return by how much a machine differs, given what jobs took over what was predicted.

    It is their median, within `BOUNDS`; one or two jobs say nothing yet.
    """
    known = [ratio for ratio in ratios if math.isfinite(ratio) and ratio > 0]
    if len(known) < 3:
        return 1.0
    return min(max(median(known), BOUNDS[0]), BOUNDS[1])


def duration(seconds: float) -> str:
    """Return a time in words, as exact as predictions are."""
    for unit, length in (("days", 86_400), ("hours", 3_600), ("minutes", 60)):
        if seconds >= 2 * length:
            return f"about {_rounded(seconds / length)} {unit}"
    return f"about {_rounded(max(seconds, 1))} seconds"


def size(bytes_: float) -> str:
    """Return an amount of memory in words."""
    if bytes_ >= 2**30:
        return f"{_rounded(bytes_ / 2**30)} GiB"
    return f"{_rounded(bytes_ / 2**20)} MiB"


def _rounded(number: float) -> str:
    """Return two digits of a number."""
    if number < 10:
        return f"{number:.2g}"
    return f"{float(f'{number:.2g}'):,.0f}"


Content = dict[str, Any]
"""What a model's message says besides its head."""

Held = tuple[AlignedSource, Any]
"""A sealed release as a source of records, and what it holds: a plan, or a masked table."""


@dataclass(frozen=True)
class PreparedJob:
    """A job that can run: the releases it uses, and how their records align."""

    sources: tuple[AlignedSource, ...]
    alignment: Alignment

    @property
    def copied(self) -> list[str]:
        """A sentence for each two of the releases in use which are the same."""
        used = {source.release for source in self.sources}
        return [one.told for one in self.alignment.same if used.issuperset(one.releases)]


@dataclass(frozen=True)
class JobResult:
    """What a job makes: what its model's message says, of how many records, and how they fit.

    `filled_in` has the sets of variables of tables that were made of smaller ones.
    """

    records: int
    content: Content
    lack_of_fit: tuple[LackOfFitMessage, ...] = ()
    filled_in: tuple[tuple[str, ...], ...] = ()


SpecT = TypeVar("SpecT", bound=Message)
PreparedT = TypeVar("PreparedT", bound=PreparedJob)
MessageT = TypeVar("MessageT", bound=ModelHead)

_MEDIA = {"page": "text/html", "svg": "image/svg+xml", "document": "application/json"}


def media_type_of(form: str) -> str:
    """Return the media type of a form in which a model can be read."""
    return _MEDIA.get(form, "text/csv" if form.endswith("csv") else "text/plain")


class JobKind(ABC, Generic[SpecT, PreparedT, MessageT]):
    """A kind of job, and the kind of model that it makes.

    Attributes:
        release_kind: the kind of release that it uses; it ignores all others.
        spec: what is asked for.
        message: the model as it is stored and answered.
        views: what writes it, by the forms it can be read in: the last part of their address.
        network: returns the network to ask and to draw records from, where the model is one.
        predictor: returns what predicts a class from records, where the model does.
        classifier: returns what does so from records of numbers and categories.
        pseudo_data: draws the pseudo-data that the model was learned from, chunk by chunk, from the
            trees it was made of; where it may be.
    """

    release_kind: ClassVar[ReleaseKindName]
    spec: type[SpecT]
    message: type[MessageT]
    views: ClassVar[Mapping[str, Callable[[Any], str]]]
    network: Callable[[MessageT], NetworkDocument] | None = None
    predictor: Callable[[MessageT], Predictor] | None = None
    classifier: Callable[[MessageT], GlobalModel] | None = None
    pseudo_data: Callable[[MessageT, Sequence[SharedTree]], Iterator[MixedTable]] | None = None

    @property
    def makes(self) -> str:
        """The `kind` of the models that it makes."""
        return str(self.message.model_fields["kind"].default)

    @property
    def offers(self) -> tuple[str, ...]:
        """What follows the address of a model of this kind."""
        asked = ("queries", "samples") if self.network else ()
        predicts = ("predictions",) if self.predictor or self.classifier else ()
        return (*self.views, *asked, *predicts, *(("pseudo-data",) if self.pseudo_data else ()))

    def check(self, spec: SpecT) -> None:
        """Raise what is wrong with a specification, whatever the releases are."""

    @abstractmethod
    def prepare(
        self,
        spec: SpecT,
        held: Sequence[Held],
        alignment: Alignment,
        limits: Limits,
        aligner: Aligner,
    ) -> PreparedT:
        """Check that a job can run on these releases, all of the kind that it uses.

        Raises:
            StructureError, OptionError: the specification is wrong in itself, or its estimator
                cannot serve records reported differently.
            RecordsDoNotAlign: the owners' records may not be joined as the job asks.
            VariablesMissing: a variable is not reported, or withheld from every report.
            Conflict: two owners report the same variable (with records `any`: of the same record).
            UnknownCategory: the job names a category that does not exist.
            LimitExceeded: the job would be too large.
        """

    def settled(self, spec: SpecT, prepared: PreparedT) -> SpecT:  # noqa: ARG002
        """Return the specification of a job that can run, with what was left to its records."""
        return spec

    @abstractmethod
    def work_of(self, spec: SpecT, prepared: PreparedT) -> Work:
        """Return how much work a specification is on what a job that can run would use."""

    @abstractmethod
    def less_of(self, spec: SpecT, prepared: PreparedT) -> Iterable[Reduction[SpecT]]:
        """Return the ways to ask for less."""

    @abstractmethod
    def learned(
        self,
        spec: SpecT,
        prepared: PreparedT,
        access: RecordAccess,
        on_step: Progress,
    ) -> JobResult:
        """Do the work of a job.

        Raises:
            EstimationError, SingularChannel, TableError, LimitExceeded: the data cannot support it.
        """

    def require_predicted(
        self, spec: SpecT, prepared: PreparedT, limits: Limits, correction: float = 1.0
    ) -> Cost:
        """Return what a job will take, if that is allowed.

        Args:
            spec: the job.
            prepared: what it would run on.
            limits: the seconds and bytes allowed.
            correction: how many times as long the jobs of this kind take here as they would on the
                machine that its rates were measured on.

        Raises:
            LimitExceeded: it would take too long, or too much memory; it says what would fit.
        """

        def cost_of(asked: SpecT) -> Cost:
            return self.work_of(asked, prepared).cost().corrected(correction)

        def fits(asked: SpecT) -> bool:
            return cost_of(asked).within(limits.job_seconds, limits.job_bytes)

        cost = cost_of(spec)
        if cost.within(limits.job_seconds, limits.job_bytes):
            return cost
        found = affordable_alternatives(self.less_of(spec, prepared), fits)
        allowed = Cost(limits.job_seconds, limits.job_bytes)
        raise LimitExceeded(
            f"The job would take {cost}; {allowed} are allowed.",
            where="spec",
            remedy=f"What would fit: {'; or '.join(found)}."
            if found
            else "No job like it would fit: leave something out that it counts, or ask whoever runs"
            " the miner to allow more.",
        )


def require_one_owner(variables: Iterable[tuple[str, str]], alignment: Alignment) -> None:
    """Check that each variable comes from one owner, given each variable with an owner of it.

    Raises:
        Conflict: two owners have a variable.
    """
    owners: dict[str, list[str]] = {}
    for name, owner in variables:
        owners.setdefault(name, []).append(owner)
    twice = {name: found for name, found in sorted(owners.items()) if len(found) > 1}
    if twice:
        raise Conflict(
            "More than one owner reports "
            + "; ".join(f"{name} ({', '.join(found)})" for name, found in twice.items())
            + "."
            + said_of_copies(alignment),
            where=", ".join(twice),
            remedy="Each variable of a job must come from one owner; rename one of them, or ask"
            ' for `"records": "any"` if the owners know different people.',
        )


def said_of_copies(alignment: Alignment) -> str:
    """Return what else is said where owners have a variable of one record: of releases alike."""
    return "".join(f" {one.told}" for one in alignment.same)


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
    amplification = model.told.to_amplification()
    return environment.get_template(template).render(
        model=model, told=amplification, infinite=math.isinf, **shown
    )


# What a model's releases tell of one person, said wherever the model is shown.


def in_words(model: ModelHead) -> str:
    """Return it in a sentence."""
    amplification = model.told.to_amplification()
    learned = f"Learned from {model.records:,} records"
    if math.isinf(amplification.epsilon):
        return f"{learned}; no gamma bounds what these tell of a person."
    return f"{learned}; whole record: {amplification.told}."


def stated(model: ModelHead, form: str, written: str) -> str:
    """Return a form of a model with the sentence, where it is a picture or text for people."""
    words = in_words(model)
    if form == "svg":
        return captioned(written, words)
    return f"{written.rstrip()}\n\n{words}\n" if form == "text" else written
