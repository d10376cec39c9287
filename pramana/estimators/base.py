"""The base class of all estimators: their options, the source of a fit, and the saved form."""

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
from pramana.frames.sentences import checked_options, one_sentence, warn_each
from pramana.reporting.estimating import EstimatedCounts, estimate
from pramana.reporting.files import write_whole
from pramana.reporting.sources import Sources
from pramana.showing import DIGITS, Drawn
from pramana_core.alike import did_you_mean
from pramana_core.errors import InputError, NotFitted, OptionError, PlanError
from pramana_core.learn.common.documents import write_json
from pramana_core.learn.common.worth import Worth
from pramana_core.pictures.svg import short
from pramana_core.plan import Plan
from pramana_core.privacy import Amplification
from pramana_core.progress import Progress
from pramana_core.terminal import progress_bar

if TYPE_CHECKING:
    import pandas as pd
    from sklearn.utils import Tags


_LONGEST = 80
"""The longest option in a printed form, in characters."""

OptionsT = TypeVar("OptionsT")
EstimatorT = TypeVar("EstimatorT", bound="Estimator")


@dataclass_transform(eq_default=False)
def estimator(kind: type[EstimatorT]) -> type[EstimatorT]:
    """Return a class decorator for estimators of a kind: the fields become options."""
    made = dataclass(eq=False, repr=False)(kind)
    made.__init__ = checked_options(made.__init__, kind.__name__)  # type: ignore[method-assign]
    return made


class Estimator(Drawn, ABC):
    """A learner: options in the constructor, then `fit`, which sets attributes ending in `_`.

    Attributes:
        n_records_: the count of records.
        plan_digests_: the digests of the sources' plans.
        gamma_: the amplification of a person's whole record; the largest one if there are several
            sources.
        epsilon_: the logarithm of `gamma_`.
        estimated_by_: the name of the estimator of the counts.
        lack_of_fit_: sentences, one for each model of the counts that the reports contradict.
        filled_in_: a sentence on the counts that were pooled from smaller tables; "" if none were.
        worth_: the assessment of the model; see the property.
    """

    kind: ClassVar[str]
    """The kind of the saved form and of the miner's models."""

    job_kinds: ClassVar[tuple[str, ...]] = ()
    """The kinds of jobs that learn this model at a miner; by default `kind`."""

    job_names: ClassVar[Mapping[str, str]] = {}
    """The names of options in these jobs, if they differ."""

    n_records_: int
    plan_digests_: tuple[str, ...]
    gamma_: float
    epsilon_: float
    estimated_by_: str
    lack_of_fit_: tuple[str, ...]
    filled_in_: str
    learned_from_: LearnedFrom

    counts_: EstimatedCounts | None = None
    """The counts of the last fit, until the model's worth is computed."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "__init__" in vars(cls):
            cls.__init__ = checked_options(cls.__init__, cls.__name__)  # type: ignore[method-assign]
        if hasattr(cls, "kind"):
            cls.job_kinds = cls.job_kinds or (cls.kind,)

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002 - scikit-learn's
        """Return the options by name; `deep` has no effect."""
        return {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}

    def set_params(self, **options: Any) -> Self:
        """Change options; the model stays unchanged until the next `fit`. Raises OptionError."""
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
        """Learn from reports and their plan, or from counts of `pm.estimate`.

        There is no `y`: the target is a column of the reports. To learn from a table that is not
        randomized, write `fit(table, pm.Plan.unrandomized(domain))`.

        Args:
            reports: `Reports`; a table of reported labels, with its `plan`; a list of several such
                sources, each with its plan, about different people of one population; or estimated
                counts.
            plan: the plan of a table; `Reports` and counts include their plan.

        Raises TableError, PlanError, OptionError, EstimationError. Warns if the reports contradict
        a model of the counts.

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
            if not isinstance(reports, EstimatedCounts):
                reports = estimate(reports, plan)
            elif plan is not None:
                raise PlanError(
                    "plan must be omitted: counts include their own plan.", where="plan"
                )
            with progress_bar("learning") as bar:
                # Lacks of fit are collected for the tables of this fit only.
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
        self.counts_ = counts
        warn_each(self.lack_of_fit_)
        return self

    @property
    def worth_(self) -> Worth | None:
        """The assessment of the model: `verdict`, `figures` with intervals, and their assumptions.

        Classifiers are compared with the majority class and naive Bayes; links, rules and cells
        with chance. The assessment is computed when first used or printed, which takes about twice
        as long as learning. It is None if the reports do not determine it. Raises NotFitted.
        """
        self._require_fitted()
        counts, self.counts_ = self.counts_, None
        if counts is not None:
            with one_sentence():
                found = self._weigh(counts)
            self.learned_from_ = self.learned_from_.model_copy(update={"worth": found})
        return self.learned_from_.worth

    def _weigh(self, counts: EstimatedCounts) -> Worth | None:  # noqa: ARG002
        return None

    def __getstate__(self) -> dict[str, Any]:
        if self.__sklearn_is_fitted__():
            _ = self.worth_  # the counts are not saved
        return vars(self)

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
        """Set a model that was learned elsewhere; return the estimator. Raises InputError."""
        self._take(document)
        self._set_source(source)
        return self

    def job_options(self) -> dict[str, Any]:
        """Return the fields of the equivalent job at a miner, except the options of counts."""
        options = self._options_written().items()
        return {"kind": self.kind, **{self.job_names.get(name, name): v for name, v in options}}

    @classmethod
    def from_job(cls, job: Mapping[str, Any]) -> Estimator:
        """Return the estimator of a job, given the job's options."""
        own = {wire: name for name, wire in cls.job_names.items()}
        return cls(**{own.get(name, name): value for name, value in job.items()})

    @classmethod
    def document_of(cls, model: Any) -> dict[str, Any]:
        """Return a miner's model in the form that `restore` reads."""
        document: dict[str, Any] = model.document
        return document

    def _options_written(self) -> dict[str, Any]:
        return {name: plain(value) for name, value in self.get_params().items()}

    def _options_of(self, options: type[OptionsT], **instead: Any) -> OptionsT:
        names = [field.name for field in fields(options)]  # type: ignore[arg-type]
        return options(**{name: plain(getattr(self, name)) for name in names} | instead)

    def _set_source(self, source: LearnedFrom) -> None:
        self.learned_from_, self.counts_ = source, None
        self.n_records_ = source.records
        self.plan_digests_ = source.plans
        self.gamma_, self.epsilon_ = source.gamma, source.epsilon
        self.estimated_by_ = source.estimated_by
        self.lack_of_fit_ = source.lack_of_fit
        self.filled_in_ = source.filled_in

    def to_document(self) -> dict[str, Any]:
        """Return the model as JSON data; see `pramana.estimators.saved`. Raises NotFitted."""
        _ = self.worth_
        return {
            "format": FORMAT,
            "version": VERSION,
            "kind": self.kind,
            "estimator": type(self).__name__,
            "params": self._options_written(),
            "learned_from": self.learned_from_.model_dump(mode="json"),
            "document": self._document(),
        }

    @classmethod
    def from_document(cls, document: object, argument: str = "document") -> Self:
        """Return the fitted estimator from a document of `to_document`. Raises InputError.

        Called on `Estimator`, this method reads documents of every estimator class. `argument` is
        the name of the document in messages.
        """
        saved = SavedModel.of(document, argument)
        made = saved.among(estimators(), argument)
        if not isinstance(made, cls):
            raise InputError(
                f"{argument} contains a {saved.estimator}, not a {cls.__name__}.", where=argument
            )
        with one_sentence():
            made.restore(saved.document, saved.learned_from)
        return made

    def to_json(self) -> str:
        """Return the model as JSON text for `from_json`, without loss. Raises NotFitted."""
        return write_json(self.to_document())

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Return the fitted estimator from JSON text of `to_json`. Raises InputError."""
        return cls.from_document(parse(text), "text")

    def save(self, path: str | Path) -> None:
        """Write the model to a JSON file for `pm.load`. Raises NotFitted, OptionError."""
        text = self.to_json()
        write_whole(path, lambda file: file.write_text(text, encoding="utf-8"))

    def _numbers(self) -> pd.DataFrame | None:
        estimator: Any = self
        frame: pd.DataFrame = estimator.to_frame()
        return frame

    def _notes(self) -> list[str]:
        worth = self.worth_
        return [
            *filter(None, [worth.words, worth.supposes] if worth else []),
            *self.lack_of_fit_,
            *filter(None, [self.filled_in_]),
            *getattr(self, "notes_", ()),
        ]

    def _repr_html_(self) -> str | None:
        return super()._repr_html_() if self.__sklearn_is_fitted__() else None

    def __sklearn_is_fitted__(self) -> bool:
        """Return whether `fit` was called (for scikit-learn's `check_is_fitted`)."""
        return hasattr(self, "n_records_")

    def _require_fitted(self) -> None:
        if not self.__sklearn_is_fitted__():
            raise NotFitted(
                f"This {type(self).__name__} has not learned anything yet; call fit first.",
                where=type(self).__name__,
            )

    def _options_text(self) -> str:
        defaults = inspect.signature(type(self)).parameters
        return ", ".join(
            f"{name}={short(repr(value), _LONGEST)}"
            for name, value in self.get_params().items()
            if repr(value) != repr(defaults[name].default)
        )

    def describe_source(self) -> str:
        """Describe the source: records, amplification and plans. Raises NotFitted."""
        self._require_fitted()
        source = self.learned_from_
        plans = ", ".join(digest[:DIGITS] for digest in source.plans)
        words = (
            f"learned from {source.records:,} records; whole record:"
            f" {Amplification(source.epsilon).told}; plan {plans}; counts by {source.estimated_by}"
        )
        words += ", whose model the reports contradict (see lack_of_fit_)" * bool(
            source.lack_of_fit
        )
        return words + ", some pooled from smaller tables (see filled_in_)" * bool(source.filled_in)

    def __repr__(self) -> str:
        call = f"{type(self).__name__}({self._options_text()})"
        if not self.__sklearn_is_fitted__():
            return call
        worth = f", {self.worth_.short}" if self.worth_ else ""
        return f"{call}{self._finding()}{worth}, {self.describe_source()}"

    def _finding(self) -> str:
        return ""


def estimators() -> Iterator[type[Estimator]]:
    """Yield every estimator class, those with the most options first."""
    for package in ("pramana.estimators", "pramana.model_sharing"):
        for module in pkgutil.iter_modules(importlib.import_module(package).__path__):
            importlib.import_module(f"{package}.{module.name}")
    found, pending = [], Estimator.__subclasses__()
    for one in pending:
        found += [one] if hasattr(one, "kind") else []
        pending += one.__subclasses__()
    yield from sorted(found, key=lambda one: -len(inspect.signature(one).parameters))


def sklearn_tags(kind: Literal["classifier", "regressor"], *, missing: bool = False) -> Tags:
    """Return scikit-learn's tags for an estimator that reads text and categories."""
    from sklearn.utils import ClassifierTags, InputTags, RegressorTags, Tags, TargetTags

    return Tags(
        estimator_type=kind,
        target_tags=TargetTags(required=False),
        classifier_tags=ClassifierTags() if kind == "classifier" else None,
        regressor_tags=RegressorTags() if kind == "regressor" else None,
        input_tags=InputTags(string=True, categorical=True, allow_nan=missing),
        requires_fit=True,
    )
