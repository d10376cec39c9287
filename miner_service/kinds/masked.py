"""Kinds of jobs on masked records: they learn from one table per masked copy, as it is.

Also here:

* Regressions, learned from such tables.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, TypeVar

import numpy as np

from miner_service.alignment.align import Aligner, require_aligned
from miner_service.alignment.joining import RecordAccess
from miner_service.alignment.mixing import MaskedRelease, columns_together, rows_together
from miner_service.kinds.base import (
    Content,
    Held,
    JobKind,
    JobResult,
    PreparedJob,
    copies_in_words,
    read_document,
    render,
    require_one_owner,
    write_document,
)
from miner_service.settings import Limits
from pramana_core.errors import Conflict, DomainError, LimitExceeded, OptionError, VariablesMissing
from pramana_core.mixed import MixedTable, NumericColumn
from pramana_core.model_sharing.global_models.common_schema import units_warning
from pramana_core.progress import Progress
from pramana_core.regression.learning import learn_regression
from pramana_core.regression.model import DOCUMENT, RegressionModel
from pramana_core.regression.pictures import coefficients_chart
from pramana_core.regression.records import Feature, require_features
from pramana_core.regression.terms import MOST_NUMBERS, MOST_TERMS, count_terms
from pramana_core.regression.words import (
    number,
    p_value,
    summary,
    warnings,
    write_regression_csv,
)
from pramana_core.wire.jobs import RecordsSpec, RegressionSpec
from pramana_core.wire.models import MaskingMessage, ModelHead, RegressionMessage
from pramana_core.wire.release_kinds import MASKED, MaskedTableMessage, TableColumn
from pramana_core.wire.releases import Alignment

SpecT = TypeVar("SpecT", bound=RecordsSpec)
MessageT = TypeVar("MessageT", bound=ModelHead)


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
        notes: what the reader of a model must know of them.
    """

    copies: Sequence[MixedTable]
    sources: Sequence[MaskedSource]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class TableExtent:
    """How much a job on masked releases would hold: known before anything is read."""

    columns: tuple[TableColumn, ...]
    records: int
    copies: int


@dataclass(frozen=True)
class TablesJob(PreparedJob):
    """A job that can run: its variables, the releases in use, and those that have variables.

    `apart` says whether these hold records of different people, to be put one under the other.
    """

    variables: tuple[str, ...]
    releases: tuple[MaskedRelease, ...]
    needed: tuple[MaskedRelease, ...]
    copies: int
    apart: bool
    extent: TableExtent


class RecordsKind(JobKind[SpecT, TablesJob, MessageT]):
    """A kind of job that learns from masked records, taken as they are."""

    release_kind = MASKED

    @abstractmethod
    def variables(self, spec: SpecT, released: Sequence[TableColumn]) -> tuple[str, ...]:
        """Return the variables it needs, given all columns that are released; may raise.

        What it names and nobody released is refused for it.
        """

    @abstractmethod
    def require_affordable(self, spec: SpecT, extent: TableExtent, limits: Limits) -> None:
        """Raise LimitExceeded if what is asked of so much is too much."""

    @abstractmethod
    def learn(self, spec: SpecT, tables: MaskedTables, on_step: Progress) -> Content:
        """Learn from tables of the variables, in their order."""

    def prepare(
        self,
        spec: SpecT,
        held: Sequence[Held],
        alignment: Alignment,
        limits: Limits,
        aligner: Aligner,
    ) -> TablesJob:
        """Check that a job can run on releases that hold masked tables.

        Raises (besides what other jobs do):
            Conflict: the owners have not the same number of masked copies.
            DomainError: owners describe a column differently.
        """
        self.check(spec)
        releases = tuple(MaskedRelease(source, table) for source, table in held)
        if not releases and not alignment.missing:
            raise VariablesMissing(
                f"No masked release is in use in study {alignment.study}; this job learns from such"
                " releases alone.",
                where="kind",
                remedy="Let an owner publish one with `owner-agent mask`.",
            )
        require_aligned(alignment, spec.records)
        described = _described(releases)
        variables = self.variables(spec, list(described.values()))
        _require_released(variables, described)
        needed = tuple(r for r in releases if set(variables) & set(r.columns))
        copies = _copies(needed, variables)
        apart = spec.records == "any"
        if apart:
            _require_whole(variables, needed)
            _require_different_people(needed, aligner, alignment)
        else:
            require_one_owner(
                ((name, r.source.owner) for r in needed for name in variables if name in r.columns),
                alignment,
            )
        extent = TableExtent(
            columns=tuple(described[name] for name in variables),
            records=sum(r.source.records for r in needed) if apart else alignment.in_all or 0,
            copies=copies,
        )
        self.require_affordable(spec, extent, limits)
        sources = tuple(r.source for r in releases)
        return TablesJob(sources, alignment, variables, releases, needed, copies, apart, extent)

    def learned(
        self,
        spec: SpecT,
        prepared: TablesJob,
        access: RecordAccess,
        on_step: Progress,
    ) -> JobResult:
        """Put a job's tables together and learn its model from them."""
        notes: tuple[str, ...] = ()
        if prepared.apart:
            tables = rows_together(
                prepared.needed, prepared.variables, prepared.copies, access.load
            )
            notes = _units_warnings(tables[0], prepared.needed)
        else:
            given = {
                release.source.release: [n for n in prepared.variables if n in release.columns]
                for release in prepared.needed
            }
            tables = columns_together(
                prepared.releases,
                given,
                prepared.variables,
                prepared.copies,
                access.aligner,
                access.load,
            )
        sources = [MaskedSource(r.source.owner, r.source.release, r.table) for r in prepared.needed]
        content = self.learn(spec, MaskedTables(tables, sources, notes), on_step)
        return JobResult(tables[0].records, content)


def _described(releases: Sequence[MaskedRelease]) -> dict[str, TableColumn]:
    """Return all columns by name; one that is masked anywhere is a masked one."""
    found: dict[str, TableColumn] = {}
    for release in releases:
        for name, column in release.columns.items():
            known = found.get(name)
            if known is None or column.role == "masked":
                found[name] = column
    return found


def _require_released(variables: Collection[str], released: Collection[str]) -> None:
    if missing := sorted(set(variables) - set(released)):
        raise VariablesMissing(
            f"No masked release in use has {missing}.",
            where=", ".join(missing),
            remedy=f"The columns released are {sorted(released)}.",
        )


def _copies(needed: Sequence[MaskedRelease], variables: Collection[str]) -> int:
    """Return how many copies the masked variables have, the same at all owners."""
    copies = {
        release.source.owner: release.table.copies
        for release in needed
        if set(variables) & set(release.table.masked)
    }
    if len(set(copies.values())) > 1:
        counts = ", ".join(f"{owner} {count}" for owner, count in sorted(copies.items()))
        raise Conflict(
            f"The owners released different numbers of masked copies ({counts}).",
            where=", ".join(sorted(copies)),
            remedy="Copies are used together, the first with the first: let all owners release as"
            " many, or choose columns of one of them.",
        )
    return next(iter(copies.values()), 1)


def _require_whole(variables: Sequence[str], needed: Sequence[MaskedRelease]) -> None:
    """Check that each release has every variable, described alike."""
    first = needed[0].columns
    for release in needed:
        own = release.columns
        if absent := sorted(set(variables) - set(own)):
            raise VariablesMissing(
                f"The masked release of {release.source.owner} has no columns {absent}; with"
                ' `"records": "any"` every owner must have all of them.',
                where=", ".join(absent),
                remedy='Choose columns that all have, or `"records": "identical"` or `"common"` if'
                " the owners know the same people.",
            )
        for name in variables:
            form = [(c[name].type, c[name].categories) for c in (own, first)]
            if form[0] != form[1]:
                raise DomainError(
                    f"{release.source.owner} and {needed[0].source.owner} describe column {name!r}"
                    " differently: its type, or its categories and their order.",
                    where=name,
                    remedy="Let both release it with the same categories in the same order.",
                )


def _units_warnings(table: MixedTable, releases: Sequence[MaskedRelease]) -> tuple[str, ...]:
    """Return a warning for each number whose unit seems to differ between owners' records."""
    ends = np.cumsum([release.source.records for release in releases])[:-1]
    found = []
    for column in table.columns:
        if isinstance(column, NumericColumn):
            parts = zip(releases, np.split(column.values, ends), strict=True)
            ranges = {r.source.owner: tuple(np.quantile(v, (0.05, 0.95))) for r, v in parts}
            found.append(units_warning(column.name, ranges))
    return tuple(filter(None, found))


def _require_different_people(
    needed: Sequence[MaskedRelease], aligner: Aligner, alignment: Alignment
) -> None:
    if len(needed) > 1 and not aligner.different_people([[r.source] for r in needed]):
        owners = sorted(r.source.owner for r in needed)
        raise Conflict(
            f"Some records are at several of {owners}; put together they would count twice."
            f"{copies_in_words(alignment)}",
            where=", ".join(owners),
            remedy='With `"records": "any"` the owners must know different people.',
        )


def _features(spec: RegressionSpec, extent: TableExtent) -> list[Feature]:
    wanted = spec.features
    return [
        Feature(column.name, None if column.categories is None else tuple(column.categories))
        for column in extent.columns
        if column.name != spec.target and (wanted is None or column.name in wanted)
    ]


def _model(message: RegressionMessage) -> RegressionModel:
    return DOCUMENT.read(read_document(message))


def _draw(message: RegressionMessage) -> str:
    return coefficients_chart(_model(message)).svg()


def _page(message: RegressionMessage) -> str:
    model = _model(message)
    return render(
        "regression.html.j2",
        message,
        regression=model,
        said=summary(model),
        effects=coefficients_chart(model).svg(),
        warnings=warnings(model),
        number=number,
        p_value=p_value,
    )


class RegressionKind(RecordsKind[RegressionSpec, RegressionMessage]):
    """Regressions."""

    spec, message = RegressionSpec, RegressionMessage
    views: ClassVar = {
        "page": _page,
        "svg": _draw,
        "csv": lambda message: write_regression_csv(_model(message)),
        "document": write_document,
    }

    def check(self, spec: RegressionSpec) -> None:
        if spec.features is not None:
            require_features(spec.features, spec.target)

    def variables(self, spec: RegressionSpec, released: Sequence[TableColumn]) -> tuple[str, ...]:
        """Return the features and, last, the target. Raises OptionError."""
        kinds = {column.name: column.type for column in released}
        if kinds.get(spec.target, "numeric") != "numeric":
            raise OptionError(
                f"The target {spec.target!r} has categories; a regression explains a number.",
                where="target",
                remedy="Name a numeric column.",
            )
        names = spec.features or [name for name in kinds if name != spec.target]
        require_features(names, spec.target)
        return (*names, spec.target)

    def require_affordable(self, spec: RegressionSpec, extent: TableExtent, limits: Limits) -> None:
        """Bound the columns of the fit and the work.

        Raises:
            LimitExceeded: they are too many.
        """
        features, degree = _features(spec, extent), spec.options().degree
        terms = count_terms(features, degree)
        if len(features) >= limits.search_variables or terms > MOST_TERMS:
            raise LimitExceeded(
                f"The regression would have {terms} terms of {len(features)} features; {MOST_TERMS}"
                f" terms of {limits.search_variables - 1} features are allowed.",
                where="degree" if degree > 1 else "features",
                remedy="Choose fewer features, those of fewer categories, or a lower degree.",
            )
        numbers = extent.records * extent.copies * (1 + terms)
        if numbers > MOST_NUMBERS:
            raise LimitExceeded(
                f"A regression on {extent.records:,} records of {extent.copies} copies would hold"
                f" {numbers:,} numbers; {MOST_NUMBERS:,} are allowed.",
                where="features",
                remedy="Choose fewer features.",
            )

    def learn(self, spec: RegressionSpec, tables: MaskedTables, on_step: Progress) -> Content:
        names = tables.copies[0].names
        features = [name for name in names if name != spec.target]
        model = learn_regression(tables.copies, spec.target, features, spec.options(), on_step)
        masking = [
            MaskingMessage(
                release=source.release,
                owner=source.owner,
                method=source.table.method,
                masked=[name for name in source.table.masked if name in names],
                copies=source.table.copies,
            )
            for source in tables.sources
        ]
        model = replace(model, notes=(*model.notes, *tables.notes))
        return {"masking": masking, "document": DOCUMENT.write(model)}
