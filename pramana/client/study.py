"""A study at the miner: its owners, releases and disclosure, and jobs that learn from it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar, cast
from urllib.parse import quote

from pramana.client.job import (
    Job,
    Served,
    fitted,
    job_of,
    learner_of,
    spec_of,
    table_frame,
)
from pramana.client.line import MinerConnection, job_path, model_path, study_path
from pramana.client.standing import Alignment, Disclosure, releases_frame
from pramana.estimators.base import Estimator
from pramana.estimators.regression import source_of
from pramana.estimators.saved import LearnedFrom
from pramana.frames.sentences import joined, listed
from pramana.frames.tables import names_of, shown
from pramana.model_sharing.combined_trees import source_of as trees_source
from pramana.reporting.estimating import EstimatorName
from pramana_core.alike import did_you_mean
from pramana_core.domain import Domain
from pramana_core.errors import NotFound, OptionError
from pramana_core.marginals.levels import Groups
from pramana_core.plan import Plan
from pramana_core.wire.base import People, Records
from pramana_core.wire.jobs import CountsSpec, JobCreate, JobSpec
from pramana_core.wire.jobs import Job as JobMessage
from pramana_core.wire.models import (
    ContingencyTableMessage,
    ModelMessage,
    ModelSharingMessage,
    RegressionMessage,
)
from pramana_core.wire.privacy import Owner
from pramana_core.wire.privacy import Study as StudyMessage
from pramana_core.wire.releases import Release

if TYPE_CHECKING:
    import pandas as pd

EstimatorT = TypeVar("EstimatorT", bound=Estimator)


class Study:
    """A study at a miner, as `Miner.study` returns it. `refresh()` updates the printed form."""

    def __init__(self, line: MinerConnection, message: StudyMessage):
        self._line = line
        self._message = message
        self._owners: list[Owner] = []
        self._alignment: Alignment | None = None

    @property
    def name(self) -> str:
        """The study's name."""
        return self._message.name

    @property
    def url(self) -> str:
        """The miner's address."""
        return self._line.url

    @property
    def title(self) -> str:
        """The study's title."""
        return self._message.title

    @property
    def people(self) -> People:
        """Whether the owners have records of the `same`, `different` or `overlapping` people."""
        return self._message.people

    @property
    def next_steps(self) -> list[str]:
        """The study's next steps, as one sentence per step that names who takes the step."""
        return [step.line for step in self._message.next]

    def domain(self) -> Domain:
        """Return the variables of the releases in use, in the order of the owners."""
        found = {v.name: v for plan in self._plans() for v in plan.domain}
        return Domain(tuple(found.values()))

    def refresh(self) -> Self:
        """Fetch owners and alignment from the miner again and return this study."""
        self._owners = self._all(Owner, "/owners")
        self.alignment()
        return self

    def owners(self) -> pd.DataFrame:
        """Return one row per owner: `name`, `joined`, `active`."""
        import pandas as pd

        self._owners = self._all(Owner, "/owners")
        rows = [owner.model_dump() for owner in self._owners]
        return pd.DataFrame(rows, columns=["name", "joined", "active"])

    def releases(self) -> pd.DataFrame:
        """Return one row per release.

        Columns: `owner`; `state` (`open`, `sealed`, `withdrawn`); whether it is `in_use`;
        `records`; `consistency` of its reports with its plan; `changed`, the count of records whose
        reports differ from those of earlier releases with the same draws; its `kind`
        (`randomized-records`, `masked-records`, `knowledge-model`); `variables`, a tuple of names;
        the `p_value` of the consistency; `plan_digest`; when it was `sealed`; `name`, `id`.
        """
        active = {owner.name for owner in self._all(Owner, "/owners") if owner.active}
        return releases_frame(self._all(Release, "/releases"), self.alignment().releases, active)

    def alignment(self) -> Alignment:
        """Return how the owners' records match; `to_frame()` has one row per owner."""
        path = study_path(self.name, "/alignment")
        self._alignment = self._line.ask(Alignment, "GET", path)
        return self._alignment

    def disclosure(self) -> Disclosure:
        """Return what all releases disclose about one person, as the miner computes it.

        `epsilon` and `gamma` are for the whole record; `to_frame()` also lists owners and columns.
        """
        path = study_path(self.name, "/privacy")
        return self._line.ask(Disclosure, "GET", path)

    def jobs(self) -> pd.DataFrame:
        """Return one row per job, the oldest first.

        Columns: `name`, `kind`, `state`, `progress`, `error` (its code), `created`, `finished`,
        `model` (its id), `id`.
        """
        import pandas as pd

        columns = ["name", "kind", "state", "progress", "error", "created", "finished"]
        columns += ["model", "id"]
        rows = [
            {**vars(job), "kind": job.spec.kind, "error": job.problem.code if job.problem else None}
            for job in self._all(JobMessage, "/jobs")
        ]
        return pd.DataFrame(rows, columns=columns)

    def models(self) -> pd.DataFrame:
        """Return one row per model, the oldest first.

        Columns: `id`, `name`, `kind`, `job` and `finished`.
        """
        made = self.jobs().dropna(subset="model")
        named = made.rename(columns={"id": "job"}).rename(columns={"model": "id"})
        return named[["id", "name", "kind", "job", "finished"]].reset_index(drop=True)

    def fetch(self, model: str, form: str = "json") -> bytes:
        """Return the bytes of a model's file, which `pm.load` and the owners' tools read.

        Args:
            model: the model's id in `models()`.
            form: `json`, the whole model; or, if the kind has that form, `document` (for prediction
                only), `page`, `svg`, `bif`, `csv`, `itemsets.csv`, `rules.csv` or `text`.

        Raises NotFound.
        """
        self._own("model", model, lambda: self._line.ask(Served, "GET", model_path(model)).root)
        return self._line.fetch(model_path(model) + ("" if form == "json" else f"/{quote(form)}"))

    def run(
        self,
        learner: EstimatorT,
        /,
        records: Records | None = None,
        *,
        estimator: EstimatorName = "auto",
        order: int | None = None,
    ) -> Job[EstimatorT]:
        """Let the miner learn from all owners' reports what `learner.fit` would learn here.

        Equal requests about the same reports return the same job, even if different analysts send
        them. A job that failed or was cancelled runs again.

        Args:
            learner: any estimator, such as `pm.DecisionTree("ill", max_depth=4)`, with its options.
                The job's `model` is a fitted copy.
            records: the records to use if the owners report different records. `identical` raises
                an error. `common` uses the records at every owner. `any` uses all records: values
                that an owner does not report are missing, and whether a value is missing must not
                depend on the value. None means `any` in a study of different people, else
                `identical`.
            estimator: how counts are estimated, see `pm.estimate`; `auto` lets the miner choose.
            order: the largest number of variables that interact, for `pooled`; None derives it from
                the count of records.

        Returns:
            the job; `job.wait().model` is the fitted estimator.

        Raises OptionError, RecordsDoNotAlign, VariablesMissing, LimitExceeded, Forbidden.
        """
        if not isinstance(learner, Estimator):
            raise OptionError(
                f"learner must be an estimator, like pm.DecisionTree('ill'), not {shown(learner)}.",
                where="learner",
            )
        counts = _counts(records, estimator, order)
        return self._create(job_of(learner, counts), self._reader(learner))

    def table(
        self,
        variables: str | Sequence[str],
        records: Records | None = None,
        *,
        groups: Groups | None = None,
        estimator: EstimatorName = "auto",
        order: int | None = None,
    ) -> Job[pd.DataFrame]:
        """Start a job in which the miner estimates a contingency table with 95 % intervals.

        Args:
            variables: one name, or a list of them.
            records: see `run`.
            groups: the categories of each group of one variable, as in `EstimatedCounts.levels`;
                None for the groups that the variable's owner states, if any; {} for no groups.
            estimator: see `run`.
            order: see `run`.

        Returns:
            the job; `model` is a frame in the form of `EstimatedCounts.table` or, if there are
            groups, of `EstimatedCounts.levels`.

        Raises the errors of `run`.
        """
        names = names_of(variables, "variables")
        table: dict[str, Any] = {"kind": "contingency-table", "variables": names}
        if groups is not None:
            table["groups"] = groups
        return self._create(spec_of(table | _counts(records, estimator, order)), _table)

    def job(self, job: str) -> Job[Any]:
        """Return an earlier job with this id. Raises NotFound."""
        found = self._own("job", job, lambda: self._line.ask(JobMessage, "GET", job_path(job)))
        if found.spec.kind == "contingency-table":
            return Job(self._line, found, _table)
        return Job(self._line, found, self._reader(learner_of(found.spec)))

    def _own(self, what: Literal["job", "model"], name: str, ask: Callable[[], Any]) -> Any:
        """Return the answer of `ask` if it is about this study. Raises NotFound."""
        with suppress(NotFound):
            found = ask()
            if found.study == self.name:
                return found
        known = list((self.jobs() if what == "job" else self.models())["id"])
        raise NotFound(
            f"Study {self.name!r} has no {what} {name!r} that this token may see"
            f"{did_you_mean([name], known)}; it has {listed(known) or 'none'}.",
            where=what,
        )

    def _create(self, spec: JobSpec, read: Callable[[ModelMessage], Any]) -> Job[Any]:
        body = JobCreate(spec=spec).model_dump_json().encode()
        path = study_path(self.name, "/jobs")
        headers = {"Content-Type": "application/json"}
        made = self._line.ask(JobMessage, "POST", path, content=body, headers=headers)
        return Job(self._line, made, read)

    def _plans(self) -> list[Plan]:
        known = {release.id: release for release in self._all(Release, "/releases")}
        in_use = [known[name] for name in self.alignment().releases if name in known]
        return [release.content.to_plan() for release in in_use]

    def _reader(self, learner: EstimatorT) -> Callable[[ModelMessage], EstimatorT]:
        def read(model: ModelMessage) -> EstimatorT:
            return fitted(learner, model, self._source(model))

        return read

    def _source(self, model: ModelMessage) -> LearnedFrom:
        if isinstance(model, RegressionMessage):
            masking = (f"{one.method} at {one.owner}" for one in model.masking)
            return source_of(model.records, tuple(masking))
        if isinstance(model, ModelSharingMessage):
            method = cast(Any, model.spec).method
            return trees_source(model.records, model.told.to_amplification().epsilon, method)
        digests = {one.id: one.content_digest for one in self._all(Release, "/releases")}
        amplification = model.told.to_amplification()
        return LearnedFrom(
            records=model.records,
            plans=tuple(digests[name] for name in model.releases if name in digests),
            gamma=amplification.gamma,
            epsilon=amplification.epsilon,
            estimated_by=cast(CountsSpec, model.spec).estimator or "moment",
            lack_of_fit=tuple(joined(t.warning) for t in model.lack_of_fit if t.warning),
            filled_in=joined(model.filled_in_told),
            worth=None if model.worth is None else model.worth.to_worth(),
        )

    def _all(self, kind: Any, rest: str) -> list[Any]:
        return list(self._line.everything(kind, study_path(self.name, rest)))

    def __repr__(self) -> str:
        title = f" ({self.title})" if self.title else ""
        active = [owner.name for owner in self._owners if owner.active]
        owners = ", ".join(active) or "no owners yet"
        aligned = self._alignment.describe() if self._alignment else "alignment unknown"
        return f"Study({self.name}{title} at {self._line.url}; owners: {owners}; {aligned})"


def _table(model: ModelMessage) -> pd.DataFrame:
    return table_frame(cast(ContingencyTableMessage, model))


def _counts(
    records: Records | None, estimator: EstimatorName, order: int | None
) -> dict[str, object]:
    chosen = None if estimator == "auto" else estimator
    given = {"records": records, "estimator": chosen, "order": order}
    return {name: value for name, value in given.items() if value is not None}
