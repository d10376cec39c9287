"""The base class of all estimators: options, source of a fit, saved form and pictures."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, TypeVar, dataclass_transform

from pramana.estimators.saved import (
    FORMAT,
    VERSION,
    LearnedFrom,
    SavedModel,
    parse,
    plain,
)
from pramana.frames.sentences import one_sentence, options_told, warn_each
from pramana.frames.tables import shown
from pramana.reporting.estimating import EstimatedCounts, estimate
from pramana.reporting.files import write_whole
from pramana.reporting.sources import Sources
from pramana.showing import DIGITS, card, plain_text, plotted
from pramana_core.alike import did_you_mean
from pramana_core.domain import Domain
from pramana_core.errors import InputError, NotFitted, OptionError, PlanError
from pramana_core.learn.common.documents import write_json
from pramana_core.pictures.plots import Picture
from pramana_core.plan import Plan
from pramana_core.privacy import Amplification
from pramana_core.progress import Progress
from pramana_core.terminal import progress_bar

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from sklearn.utils import Tags


_ERRORS = {
    "decision-tree": "95 % intervals of leaves against the population, given the splits",
    "linear-classifier": "95 % intervals of weights against the population",
    "bayes-classifier": "95 % intervals of probabilities against the population",
    "bayes-net": "95 % intervals of parameters against the population, given the links",
}
"""The errors of the models of a kind."""


ROOMS = ("pramana.estimators", "pramana.model_sharing")
"""The packages of estimators; their modules are loaded when a model is read."""

OptionsT = TypeVar("OptionsT")
EstimatorT = TypeVar("EstimatorT", bound="Estimator")


@dataclass_transform(eq_default=False)
def estimator(kind: type[EstimatorT]) -> type[EstimatorT]:
    """Make the fields of a class its options; other options are refused by name."""
    made = dataclass(eq=False, repr=False)(kind)
    made.__init__ = options_told(made.__init__, kind.__name__)  # type: ignore[method-assign]
    return made


class Estimator(ABC):
    """A learner: options in the constructor, `fit`, and attributes that end with an underscore.

    After `fit`:

    Attributes:
        n_records_: the number of records.
        plan_digests_: the digest of each source's plan.
        gamma_: the amplification of one person's whole record, the largest of the sources.
        epsilon_: its logarithm.
        estimated_by_: the estimator of the counts.
        lack_of_fit_: a sentence for each model of the counts that the reports contradict; `moment`
            and `ml` use no model.
        filled_in_: a sentence on counts that were pooled from smaller tables; often empty.
    """

    kind: ClassVar[str]
    """The kind of its saved form and of the miner's models."""

    job_kinds: ClassVar[tuple[str, ...]] = ()
    """The kinds of jobs by which a miner learns it; by default its own kind."""

    job_names: ClassVar[Mapping[str, str]] = {}
    """The names of options in these jobs, where they differ."""

    of_counts: ClassVar[bool] = True
    """Whether it learns from estimated counts rather than from records."""

    n_records_: int
    plan_digests_: tuple[str, ...]
    gamma_: float
    epsilon_: float
    estimated_by_: str
    lack_of_fit_: tuple[str, ...]
    filled_in_: str

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "__init__" in vars(cls):
            cls.__init__ = options_told(cls.__init__, cls.__name__)  # type: ignore[method-assign]
        if hasattr(cls, "kind"):
            cls.job_kinds = cls.job_kinds or (cls.kind,)

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002 - scikit-learn's
        """Return the options by name; `deep` has no effect, for no option is an estimator."""
        return {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}

    def set_params(self, **options: Any) -> Self:
        """Change options; the model stays until the next `fit`.

        Raises:
            OptionError: there is no such option.
        """
        names = inspect.signature(type(self)).parameters
        for name, value in options.items():
            if name not in names:
                raise OptionError(
                    f"{type(self).__name__} has no option {name!r}"
                    f"{did_you_mean([name], names)}; it has {', '.join(names)}.",
                    where=name,
                )
            setattr(self, name, value)
        return self

    def fit(
        self,
        reports: EstimatedCounts | Sources,
        plan: Plan | None = None,
    ) -> Self:
        """Learn from reports and their plan, or from counts that `pm.estimate` made of them.

        There is no `y`: the target is a column of the reports. To learn from a table that is not
        randomized, write `fit(table, pm.Plan.unrandomized(domain))`.

        Args:
            reports: `Reports`; a table of reported labels, with its `plan`; several of these, each
                with its plan, of different people of one population; or estimated counts.
            plan: how a table was randomized; `Reports` and counts have their own.

        Raises:
            TableError, PlanError: the reports or the plan cannot be understood.
            OptionError: an option is out of its range.
            EstimationError: this cannot be learned from these reports.

        Warns:
            UserWarning: the reports contradict a model that counts were taken from.

        Examples:
            >>> import pramana as pm
            >>> people = pm.example("berkeley")
            >>> domain = pm.domain(people, pm.observed_categories(people))
            >>> reports = pm.randomize(people, pm.plan(domain, gamma=100),
            ...                        pm.Keys.for_experiments(1), record_id=people.index)
            >>> model = pm.NaiveBayes("admitted").fit(reports)
            >>> model.n_records_, round(model.epsilon_, 2), model.estimated_by_
            (4526, 13.82, 'moment')
        """
        with one_sentence():
            self._require_no_y(reports, plan)
            if not isinstance(reports, EstimatedCounts):
                reports = estimate(reports, plan)
            with progress_bar("learning") as bar:
                # Lacks of fit are collected for the tables of this fit alone.
                counts = replace(reports, marginals=reports.marginals.part())
                self._learn(counts, bar)
        amplifications = [source.amplification for source in reports.sources]
        self._set_source(
            LearnedFrom(
                records=reports.records,
                plans=tuple(source.plan.digest for source in reports.sources),
                gamma=max(one.gamma for one in amplifications),
                epsilon=max(one.epsilon for one in amplifications),
                estimated_by=reports.estimator,
                lack_of_fit=tuple(counts.lack_of_fit),
                filled_in=counts.filled_in,
            )
        )
        warn_each(self.lack_of_fit_)
        return self

    def _require_no_y(self, reports: object, plan: object) -> None:
        """Refuse a y, a domain, or a plan together with counts."""
        if isinstance(reports, Plan):
            return  # in the wrong order, which is said below
        if isinstance(plan, Domain):
            raise PlanError(
                "plan must be a Plan, not a Domain: write pm.Plan.unrandomized(domain) if the table"
                " holds what is true.",
                where="plan",
            )
        if plan is not None and not isinstance(plan, Plan):
            raise PlanError(
                f"plan must be the Plan of the reports, not {shown(plan)}: fit takes no y, for what"
                " is learned of is a column of the reports.",
                where="plan",
            )
        if isinstance(reports, EstimatedCounts) and plan is not None:
            raise PlanError(
                "plan must be left out: the counts were estimated under a plan of their own.",
                where="plan",
            )

    @abstractmethod
    def _learn(self, counts: EstimatedCounts, on_step: Progress) -> None:
        """Set the fitted attributes."""

    @abstractmethod
    def _document(self) -> dict[str, Any]:
        """Return the learned model as JSON data."""

    @abstractmethod
    def _take(self, document: Mapping[str, Any]) -> None:
        """Set the fitted attributes from the result of `_document`. Raises InputError."""

    def restore(self, document: Mapping[str, Any], source: LearnedFrom) -> Self:
        """Take a model that was learned elsewhere; returns the estimator itself.

        Raises:
            InputError: the document is no such model.
        """
        self._take(document)
        self._set_source(source)
        return self

    def job_options(self) -> dict[str, Any]:
        """Return the miner's job that learns the same, without the options of the counts."""
        options = self._options_written().items()
        return {"kind": self.kind, **{self.job_names.get(name, name): v for name, v in options}}

    @classmethod
    def from_job(cls, job: Mapping[str, Any]) -> Estimator:
        """Return the estimator of a job, given the job's options."""
        own = {wire: name for name, wire in cls.job_names.items()}
        return cls(**{own.get(name, name): value for name, value in job.items()})

    @classmethod
    def document_of(cls, model: Any) -> dict[str, Any]:
        """Return a miner's model as `restore` takes it."""
        document: dict[str, Any] = model.document
        return document

    def _options_written(self) -> dict[str, Any]:
        """Return the options as JSON data."""
        return {name: plain(value) for name, value in self.get_params().items()}

    def _options_of(self, options: type[OptionsT], **instead: Any) -> OptionsT:
        """Return the learner's options, checked. Raises OptionError."""
        names = [field.name for field in fields(options)]  # type: ignore[arg-type]
        return options(**{name: plain(getattr(self, name)) for name in names} | instead)

    def _set_source(self, source: LearnedFrom) -> None:
        self.learned_from_ = source
        self.n_records_ = source.records
        self.plan_digests_ = source.plans
        self.gamma_, self.epsilon_ = source.gamma, source.epsilon
        self.estimated_by_ = source.estimated_by
        self.lack_of_fit_ = source.lack_of_fit
        self.filled_in_ = source.filled_in

    def _source(self) -> LearnedFrom:
        self._require_fitted()
        return self.learned_from_

    def to_document(self) -> dict[str, Any]:
        """Return the model as JSON data; see `pramana.estimators.saved`. Raises NotFitted."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "kind": self.kind,
            "estimator": type(self).__name__,
            "params": self._options_written(),
            "learned_from": self._source().model_dump(mode="json"),
            "document": self._document(),
        }

    @classmethod
    def from_document(cls, document: object, argument: str = "document") -> Self:
        """Return the fitted estimator of a document; `Estimator` reads those of all classes.

        Args:
            document: the result of `to_document`.
            argument: the name of the document in messages.

        Raises:
            InputError: it is no such document, or of another class.
        """
        saved = SavedModel.of(document, argument)
        made = saved.among(estimators(), argument)
        if not isinstance(made, cls):
            raise InputError(
                f"{argument} holds a {saved.estimator}, not a {cls.__name__}.", where=argument
            )
        with one_sentence():
            made.restore(saved.document, saved.learned_from)
        return made

    def to_json(self) -> str:
        """Return the model as JSON text without loss. Raises NotFitted."""
        return write_json(self.to_document())

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Return the fitted estimator of the text of `to_json`. Raises InputError."""
        return cls.from_document(parse(text), "text")

    def save(self, path: str | Path) -> None:
        """Write the model to a JSON file, replacing it; `pm.load` reads it.

        Raises:
            NotFitted: nothing was learned.
            OptionError: the file cannot be written.

        Examples:
            >>> import pramana as pm, tempfile
            >>> people = pm.example("berkeley")
            >>> domain = pm.domain(people, pm.observed_categories(people))
            >>> model = pm.NaiveBayes("admitted").fit(people, pm.Plan.unrandomized(domain))
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     model.save(f"{folder}/model.json")
            ...     loaded = pm.load(f"{folder}/model.json")
            >>> bool((loaded.predict(people) == model.predict(people)).all())
            True
        """
        text = self.to_json()
        write_whole(path, lambda file: file.write_text(text, encoding="utf-8"))

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the model and return the axes.

        On a grid of axes make the figure with `layout="constrained"`, so that names beside an axis
        have room.

        Args:
            ax: matplotlib axes to draw on; None makes a figure of the picture's own size.

        Raises:
            NotFitted: nothing was learned.
            OptionError: `ax` is no axes.
        """
        self._require_fitted()
        return plotted(self._picture(), ax)

    @abstractmethod
    def _picture(self) -> Picture:
        """Return the picture of `plot`."""

    def _facts(self) -> list[tuple[str, str]]:
        """Return facts on the model, each with its name."""
        return [("errors", _ERRORS[self.kind])]

    def _numbers(self) -> pd.DataFrame | None:
        """Return the main numbers, a row each."""
        estimator: Any = self
        frame: pd.DataFrame = estimator.to_frame()
        return frame

    def _source_facts(self) -> list[tuple[str, str]]:
        """Return facts on the source, each with its name."""
        if not self.plan_digests_:
            return [("source", self.source_told())]
        plans = ", ".join(digest[:DIGITS] for digest in self.plan_digests_)
        return [
            (
                "learned from",
                f"{self.n_records_:,} records, counts estimated by {self.estimated_by_}",
            ),
            ("whole record", Amplification(self.epsilon_).told),
            ("plan" if len(self.plan_digests_) == 1 else "plans", plans),
            *(("warning", words) for words in self.lack_of_fit_),
            *(("filled in", words) for words in [self.filled_in_] if words),
        ]

    def _repr_html_(self) -> str:
        """Return the options as HTML, after `fit` also the model."""
        if not self.__sklearn_is_fitted__():
            return plain_text(repr(self))
        heading = f"{type(self).__name__}({self._options_told()})"
        facts = self._source_facts() + self._facts()
        return card(heading, facts, self._picture().svg(), self._numbers(), "to_frame() has all")

    def __sklearn_is_fitted__(self) -> bool:
        """Whether `fit` was called (for scikit-learn's `check_is_fitted`)."""
        return hasattr(self, "n_records_")

    def _require_fitted(self) -> None:
        if not self.__sklearn_is_fitted__():
            raise NotFitted(
                f"This {type(self).__name__} has not learned anything yet; call fit first.",
                where=type(self).__name__,
            )

    def _options_told(self) -> str:
        """Return the options that differ from the defaults, as in a call."""
        defaults = inspect.signature(type(self)).parameters
        return ", ".join(
            f"{name}={value!r}"
            for name, value in self.get_params().items()
            if repr(value) != repr(defaults[name].default)
        )

    def source_told(self) -> str:
        """Return the source in words: records, amplification and plans. Raises NotFitted."""
        source = self._source()
        plans = ", ".join(digest[:DIGITS] for digest in source.plans)
        doubt = ", whose model the reports contradict (see lack_of_fit_)"
        doubt = doubt if source.lack_of_fit else ""
        doubt += (
            ", some filled in from fewer variables (see filled_in_)" if source.filled_in else ""
        )
        return (
            f"learned from {source.records:,} records; {source.told}; plan {plans}; counts by"
            f" {source.estimated_by}{doubt}"
        )

    def __repr__(self) -> str:
        said = f"{type(self).__name__}({self._options_told()})"
        if not self.__sklearn_is_fitted__():
            return said
        return f"{said}{self._found_told()}, {self.source_told()}"

    def _found_told(self) -> str:
        """Return the main result in a few words, after a comma; often nothing."""
        return ""


def estimators() -> Iterator[type[Estimator]]:
    """Yield every estimator class, those with the most options first."""
    for room in ROOMS:
        for module in pkgutil.iter_modules(importlib.import_module(room).__path__):
            importlib.import_module(f"{room}.{module.name}")
    found, pending = [], Estimator.__subclasses__()
    for one in pending:
        if hasattr(one, "kind"):
            found.append(one)
        pending += one.__subclasses__()
    yield from sorted(found, key=lambda one: -len(inspect.signature(one).parameters))


def sklearn_tags(kind: Literal["classifier", "regressor"], *, missing: bool = False) -> Tags:
    """Return scikit-learn's tags of an estimator of text and categories."""
    from sklearn.utils import ClassifierTags, InputTags, RegressorTags, Tags, TargetTags

    return Tags(
        estimator_type=kind,
        target_tags=TargetTags(required=False),
        classifier_tags=ClassifierTags() if kind == "classifier" else None,
        regressor_tags=RegressorTags() if kind == "regressor" else None,
        input_tags=InputTags(string=True, categorical=True, allow_nan=missing),
        requires_fit=True,
    )
