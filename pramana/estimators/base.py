"""What all estimators have in common: options, where a fit comes from, and the saved form."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar, dataclass_transform

from pramana.estimators.saved import (
    FORMAT,
    VERSION,
    LearnedFrom,
    SavedModel,
    load_estimators,
    parse,
    plain,
    register,
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
from pramana_core.privacy.amplification import Amplification
from pramana_core.progress import Progress
from pramana_core.terminal import progress_bar

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


_ERRORS = {
    "decision-tree": "95 % intervals of leaves against the population, given the splits",
    "linear-classifier": "95 % intervals of weights against the population",
    "bayes-classifier": "95 % intervals of probabilities against the population",
    "bayes-net": "95 % intervals of parameters against the population, given the links",
}
"""Which errors the models of a kind of estimator have."""


OptionsT = TypeVar("OptionsT")
EstimatorT = TypeVar("EstimatorT", bound="Estimator")


@dataclass_transform(eq_default=False)
def estimator(kind: type[EstimatorT]) -> type[EstimatorT]:
    """Make the fields of a learner its options; a call with other options is refused by name."""
    made = dataclass(eq=False, repr=False)(kind)
    made.__init__ = options_told(made.__init__, kind.__name__)  # type: ignore[method-assign]
    return made


class Estimator(ABC):
    """A learner: options in the constructor, `fit`, and attributes that end with an underscore.

    After `fit`:

    Attributes:
        n_records_: the records that were learned from.
        plan_digests_: the digest of each source's plan.
        gamma_: the amplification of one person's whole record, the largest of the sources.
        epsilon_: its logarithm.
        estimated_by_: what estimated the counts.
        lack_of_fit_: a sentence for each model of the counts that the reports contradict; empty
            where they fit, and by `moment` and `ml`, which suppose nothing.
        filled_in_: a sentence on counts that were made of smaller tables; empty where none were.
            Both are of the tables that were learned from.
    """

    kind: ClassVar[str]
    """How its saved form and the miner's models call it."""

    job_kinds: ClassVar[tuple[str, ...]] = ()
    """The kinds of jobs by which a miner learns it; one of its own kind unless it says others."""

    job_names: ClassVar[Mapping[str, str]] = {}
    """What options are called in these jobs, where they are not called the same."""

    of_counts: ClassVar[bool] = True
    """Whether it learns from estimated counts, and not from records."""

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
            register(cls)

    @classmethod
    def _names(cls) -> list[str]:
        return list(inspect.signature(cls).parameters)

    @classmethod
    def _require_options(cls, named: Mapping[str, Any]) -> None:
        names = cls._names()
        for name in named:
            if name not in names:
                raise OptionError(
                    f"{cls.__name__} has no option {name!r}{did_you_mean([name], names)}; it has"
                    f" {', '.join(names)}.",
                    where=name,
                )

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002 - scikit-learn's
        """Return the options by name; `deep` changes nothing, for no option is an estimator."""
        return {name: getattr(self, name) for name in self._names()}

    def set_params(self, **options: Any) -> Self:
        """Change options; what was learned stays until the next `fit`.

        Raises:
            OptionError: there is no such option.
        """
        self._require_options(options)
        for name, value in options.items():
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
                with its plan, of different people of one population; or estimated counts. How
                counts are estimated is chosen there, in `pm.estimate`.
            plan: how a table was randomized; `Reports` and counts have their own.

        Returns:
            the estimator itself.

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
                # Warnings are about the tables that are taken here, whoever took others before.
                counts = replace(reports, marginals=reports.marginals.part())
                self._learn(counts, bar)
        amplifications = [source.amplification for source in reports.sources]
        self._set_source(
            LearnedFrom(
                reports.records,
                tuple(source.plan.digest for source in reports.sources),
                max(one.gamma for one in amplifications),
                max(one.epsilon for one in amplifications),
                reports.estimator,
                tuple(counts.lack_of_fit),
                filled_in=counts.filled_in,
            )
        )
        warn_each(self.lack_of_fit_)
        return self

    def _require_no_y(self, reports: object, plan: object) -> None:
        """Refuse what is no plan of the reports, and a plan beside counts. Raises PlanError."""
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
        """Set the fitted attributes of this learner; nothing is set where it raises."""

    @abstractmethod
    def _document(self) -> dict[str, Any]:
        """Return the learned model as the packages below write it."""

    @abstractmethod
    def _take(self, document: Mapping[str, Any]) -> None:
        """Set the fitted attributes from what `_document` returned. Raises InputError."""

    def restore(self, document: Mapping[str, Any], source: LearnedFrom) -> Self:
        """Take what was learned elsewhere, as the packages below write it; returns itself.

        Raises:
            InputError: the document is no such model.
        """
        self._take(document)
        self._set_source(source)
        return self

    def job_options(self) -> dict[str, Any]:
        """Return what a miner is asked for to learn the same: its job, but for the counts."""
        options = self._options_written().items()
        return {"kind": self.kind, **{self.job_names.get(name, name): v for name, v in options}}

    @classmethod
    def from_job(cls, job: Mapping[str, Any]) -> Estimator:
        """Return an estimator that would ask for a job, given its options by their names there."""
        own = {wire: name for name, wire in cls.job_names.items()}
        return cls(**{own.get(name, name): value for name, value in job.items()})

    @classmethod
    def document_of(cls, model: Any) -> dict[str, Any]:
        """Return what a miner answers of its model as `restore` takes it."""
        document: dict[str, Any] = model.document
        return document

    def _options_written(self) -> dict[str, Any]:
        """Return the options as JSON can say them."""
        return {name: plain(value) for name, value in self.get_params().items()}

    def _options_of(self, options: type[OptionsT], **instead: Any) -> OptionsT:
        """Return those that have limits, as the packages below have them. Raises OptionError."""
        names = [field.name for field in fields(options)]  # type: ignore[arg-type]
        return options(**{name: plain(getattr(self, name)) for name in names} | instead)

    def _set_source(self, source: LearnedFrom) -> None:
        self.n_records_ = source.records
        self.plan_digests_ = source.plans
        self.gamma_, self.epsilon_ = source.gamma, source.epsilon
        self.estimated_by_ = source.estimated_by
        self.lack_of_fit_ = source.lack_of_fit
        self.filled_in_ = source.filled_in

    def _source(self) -> LearnedFrom:
        self._require_fitted()
        return LearnedFrom(
            self.n_records_,
            self.plan_digests_,
            self.gamma_,
            self.epsilon_,
            self.estimated_by_,
            self.lack_of_fit_,
            filled_in=self.filled_in_,
        )

    def to_document(self) -> dict[str, Any]:
        """Return what was learned as what JSON is made of; see `pramana.estimators.saved`.

        Raises:
            NotFitted: nothing was learned.
        """
        return {
            "format": FORMAT,
            "version": VERSION,
            "kind": self.kind,
            "estimator": type(self).__name__,
            "params": self._options_written(),
            "learned_from": self._source().written(),
            "document": self._document(),
        }

    @classmethod
    def from_document(cls, document: object, argument: str = "document") -> Self:
        """Return the fitted estimator of a document.

        Called on a class, the document must be of that class; `Estimator` itself reads all.

        Args:
            document: what `to_document` returned.
            argument: the parameter that it was passed as.

        Raises:
            InputError: it is no such document, or of another class.
        """
        saved = SavedModel.of(document, argument)
        found = saved.estimator_class(argument)
        if not issubclass(found, cls):
            raise InputError(
                f"{argument} holds a {saved.estimator}, not a {cls.__name__}.", where=argument
            )
        with one_sentence():
            made: Self = saved.estimator_of(found, argument).restore(
                saved.document, saved.learned_from.read()
            )
        return made

    def to_json(self) -> str:
        """Return what was learned as JSON text; no number loses anything. Raises NotFitted."""
        return write_json(self.to_document())

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Return the fitted estimator of the text of `to_json`. Raises InputError."""
        return cls.from_document(parse(text), "text")

    def save(self, path: str | Path) -> None:
        """Write what was learned to a file, as JSON; `pm.load` reads it.

        Args:
            path: the file; one that is there is replaced.

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
        """Draw what was learned.

        A tree or a network is drawn to scale, with letters as large as the axes allow; weights,
        itemsets and rules as a row each, with their intervals. On a grid of axes make the figure
        with `layout="constrained"`, so that names beside an axis have room.

        Args:
            ax: matplotlib axes to draw on; None makes a figure of the picture's own size.

        Returns:
            the axes.

        Raises:
            NotFitted: nothing was learned.
            OptionError: `ax` is no axes.
        """
        self._require_fitted()
        return plotted(self._picture(), ax)

    @abstractmethod
    def _picture(self) -> Picture:
        """Return what `plot` draws."""

    def _facts(self) -> list[tuple[str, str]]:
        """Return what is known of the model besides where it was learned from."""
        return [("errors", _ERRORS[self.kind])]

    def _numbers(self) -> pd.DataFrame | None:
        """Return the main numbers, a row each; None if there are none."""
        estimator: Any = self
        frame: pd.DataFrame = estimator.to_frame()
        return frame

    def _learned_from(self) -> list[tuple[str, str]]:
        """Return the records, plans and amplification that were learned from, and by what."""
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
        """Return what a notebook shows: before `fit` the options, after it the model."""
        if not self.__sklearn_is_fitted__():
            return plain_text(repr(self))
        heading = f"{type(self).__name__}({self._options_told()})"
        facts = self._learned_from() + self._facts()
        return card(heading, facts, self._picture().svg(), self._numbers(), "to_frame() has all")

    def __sklearn_is_fitted__(self) -> bool:
        """Whether something was learned (scikit-learn's `check_is_fitted`)."""
        return hasattr(self, "n_records_")

    def _require_fitted(self) -> None:
        if not self.__sklearn_is_fitted__():
            raise NotFitted(
                f"This {type(self).__name__} has not learned anything yet; call fit first.",
                where=type(self).__name__,
            )

    def _options_told(self) -> str:
        """Return the options that are not the defaults, as in a call."""
        defaults = inspect.signature(type(self)).parameters
        return ", ".join(
            f"{name}={value!r}"
            for name, value in self.get_params().items()
            if repr(value) != repr(defaults[name].default)
        )

    def source_told(self) -> str:
        """Return in words what was learned from: records, plans and what one record tells.

        Raises:
            NotFitted: nothing was learned.
        """
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
        """Return what was found in a few words, after a comma; often nothing."""
        return ""


def estimators() -> Iterator[type[Estimator]]:
    """Yield every estimator that there is, those with the most options first.

    Where two can learn the same, the first can say what either learned.
    """
    load_estimators()
    found, pending = [], Estimator.__subclasses__()
    for one in pending:
        if hasattr(one, "kind"):
            found.append(one)
        pending += one.__subclasses__()
    yield from sorted(found, key=lambda one: -len(inspect.signature(one).parameters))
