"""Regressions on masked records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from miner_service.alignment.align import Aligner, require_aligned
from miner_service.alignment.joining import RecordAccess
from miner_service.alignment.mixing import MaskedRelease, columns_together, rows_together
from miner_service.kinds.base import (
    JobKind,
    JobResult,
    PreparedJob,
    ReleaseContent,
    copies_in_words,
    render,
    require_one_owner,
    write_document,
)
from miner_service.settings import Limits
from pramana_core.alike import first_few
from pramana_core.errors import (
    Conflict,
    DomainError,
    OptionError,
    VariablesMissing,
    require_at_most,
)
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
    worth,
    write_regression_csv,
)
from pramana_core.wire.jobs import RegressionSpec
from pramana_core.wire.models import MaskingMessage, RegressionMessage, WorthMessage
from pramana_core.wire.release_kinds import KINDS, MASKED, TableColumn
from pramana_core.wire.releases import Alignment


@dataclass(frozen=True)
class TablesJob(PreparedJob):
    """A regression job that can run. If `disjoint` is true, the releases have different people."""

    variables: tuple[str, ...]
    releases: tuple[MaskedRelease, ...]
    needed: tuple[MaskedRelease, ...]
    disjoint: bool

    @property
    def columns(self) -> int:
        return len(self.variables)


def _model(message: RegressionMessage) -> RegressionModel:
    return DOCUMENT.read(write_document(message))


def _page(message: RegressionMessage) -> str:
    model = _model(message)
    return render(
        "regression.html.j2",
        message,
        regression=model,
        summary=summary(model),
        effects=coefficients_chart(model).svg(),
        warnings=warnings(model),
        number=number,
        p_value=p_value,
    )


class RegressionKind(JobKind[RegressionSpec, TablesJob, RegressionMessage]):
    """Jobs that fit regressions to masked records."""

    release_kind = MASKED
    spec, message = RegressionSpec, RegressionMessage
    views: ClassVar = {
        "page": _page,
        "svg": lambda message: coefficients_chart(_model(message)).svg(),
        "csv": lambda message: write_regression_csv(_model(message)),
        "document": write_document,
    }

    def check(self, spec: RegressionSpec) -> None:
        if spec.features is not None:
            require_features(spec.features, spec.target)

    def prepare(
        self,
        spec: RegressionSpec,
        released: Sequence[ReleaseContent],
        alignment: Alignment,
        limits: Limits,
        aligner: Aligner,
    ) -> TablesJob:
        """Check that a job can run on masked releases. Raises DomainError and other errors."""
        self.check(spec)
        releases = tuple(MaskedRelease(source, table) for source, table in released)
        if not releases and not alignment.missing:
            raise VariablesMissing(
                f"No masked release is in use in study {alignment.study}.",
                where="kind",
                remedy=f"Ask an owner to publish one with `{KINDS[MASKED].command}`.",
            )
        require_aligned(alignment, spec.records)
        described = _columns_by_name(releases)
        variables = _variables(spec, described)
        needed = tuple(r for r in releases if set(variables) & set(r.columns))
        disjoint = spec.records == "any"
        if disjoint:
            _require_whole(variables, needed)
            _require_different_people(needed, aligner, alignment)
        else:
            require_one_owner(
                ((name, r.source.owner) for r in needed for name in variables if name in r.columns),
                alignment,
            )
        records = sum(r.source.records for r in needed) if disjoint else alignment.in_all or 0
        columns = [described[name] for name in variables]
        _require_affordable(spec, columns, records, limits)
        sources = tuple(r.source for r in releases)
        return TablesJob(sources, alignment, variables, releases, needed, disjoint)

    def learned(
        self,
        spec: RegressionSpec,
        prepared: TablesJob,
        access: RecordAccess,
        on_step: Progress,
    ) -> JobResult:
        """Join the tables of a job and fit its model."""
        needed, variables = prepared.needed, prepared.variables
        if prepared.disjoint:
            table = rows_together(needed, variables, access.load)
        else:
            table = columns_together(
                prepared.releases,
                {r.source.release: [n for n in variables if n in r.columns] for r in needed},
                variables,
                access.aligner,
                access.load,
            )
        *features, target = variables
        model = learn_regression(table, target, features, spec.options(), on_step)
        notes = _units_warnings(table, needed) if prepared.disjoint else ()
        masking = [
            MaskingMessage(
                release=release.source.release,
                owner=release.source.owner,
                method=release.table.method,
                masked=[name for name in release.table.masked if name in variables],
            )
            for release in needed
        ]
        model = replace(model, notes=(*model.notes, *notes))
        content = {
            "masking": masking,
            "document": DOCUMENT.write(model),
            "worth": WorthMessage.of(worth(model)),
        }
        return JobResult(table.records, content)


def _variables(spec: RegressionSpec, released: Mapping[str, TableColumn]) -> tuple[str, ...]:
    """Return the features and, last, the target. Raises OptionError, VariablesMissing."""
    target = released.get(spec.target)
    if target is not None and target.type != "numeric":
        raise OptionError(
            f"The target {spec.target!r} is categorical; a regression needs a numeric target.",
            where="target",
            remedy="Name a numeric column.",
        )
    names = spec.features or [name for name in released if name != spec.target]
    require_features(names, spec.target)
    if missing := sorted({*names, spec.target} - set(released)):
        raise VariablesMissing(
            f"No masked release in use has {missing}.",
            where=", ".join(missing),
            remedy=f"The released columns are {first_few(sorted(released), 12)}.",
        )
    return (*names, spec.target)


def _require_affordable(
    spec: RegressionSpec, columns: Sequence[TableColumn], rows: int, limits: Limits
) -> None:
    features = [
        Feature(column.name, None if column.categories is None else tuple(column.categories))
        for column in columns
        if column.name != spec.target
    ]
    degree = spec.options().degree
    terms, where = count_terms(features, degree), "degree" if degree > 1 else "features"
    remedy = "Choose fewer features, features with fewer categories, or a lower degree."
    require_at_most(len(features), limits.search_variables - 1, "features", where, remedy)
    require_at_most(terms, MOST_TERMS, "terms of the regression", where, remedy)
    require_at_most(rows * (1 + terms), MOST_NUMBERS, "numbers of the fit", "features", remedy)


def _columns_by_name(releases: Sequence[MaskedRelease]) -> dict[str, TableColumn]:
    """Return all columns by name. A column counts as masked if any owner masked it."""
    found: dict[str, TableColumn] = {}
    for release in releases:
        for name, column in release.columns.items():
            known = found.get(name)
            if known is None or column.role == "masked":
                found[name] = column
    return found


def _require_whole(variables: Sequence[str], needed: Sequence[MaskedRelease]) -> None:
    first = needed[0].columns
    for release in needed:
        own = release.columns
        if absent := sorted(set(variables) - set(own)):
            raise VariablesMissing(
                f"The masked release of {release.source.owner} lacks the columns {absent}; with"
                ' records "any" every owner must have all columns.',
                where=", ".join(absent),
                remedy="Choose columns that all owners have. If the owners have the same people,"
                ' set the option records to "identical" or "common".',
            )
        for name in variables:
            form = [(c[name].type, c[name].categories) for c in (own, first)]
            if form[0] != form[1]:
                raise DomainError(
                    f"{release.source.owner} and {needed[0].source.owner} describe column {name!r}"
                    " differently: its type, or its categories and their order.",
                    where=name,
                    remedy="Both owners must release the same categories in the same order.",
                )


def _units_warnings(table: MixedTable, releases: Sequence[MaskedRelease]) -> tuple[str, ...]:
    """Return a warning for each numeric column whose unit seems to differ between owners."""
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
            f"Several of the owners {owners} have the same records, which would count twice."
            f"{copies_in_words(alignment)}",
            where=", ".join(owners),
            remedy='With records "any", the owners must have different people.',
        )
