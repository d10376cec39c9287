"""Contingency tables: estimated counts for all combinations of categories."""

from __future__ import annotations

from dataclasses import asdict
from typing import ClassVar

import numpy as np

from miner_service.kinds.base import Content, render
from miner_service.kinds.bounds import FEWER, Extent, require_table
from miner_service.kinds.counts import CountsKind
from miner_service.settings import MEBIBYTE, Limits
from pramana_core.csv_text import csv_text
from pramana_core.domain import Domain
from pramana_core.errors import OptionError, require_at_most
from pramana_core.learn.common.distributions import project_to_simplex
from pramana_core.learn.common.worth import Worth
from pramana_core.learn.worth import table_worth
from pramana_core.marginals.counts import Marginals
from pramana_core.marginals.levels import levels_of, require_groups
from pramana_core.marginals.tables import LEVEL, column_of
from pramana_core.progress import Progress
from pramana_core.wire.channels import NamedVariable
from pramana_core.wire.jobs import ContingencyTableSpec, CountsSpec
from pramana_core.wire.models import CellMessage, ContingencyTableMessage, LevelMessage

CELLS_SHOWN = 2_000
"""The maximum number of cells on the page; the CSV has all cells."""

MOST_BYTES = 20 * MEBIBYTE
"""Maximum number of bytes of a table as JSON, whose cells name variables and categories."""

_CELL_BYTES, _LABEL_BYTES = 200, 6
"""Bytes of a cell's six numbers, and of the punctuation of each of its labels."""

_NUMBERS = ("count", "projected", "se_records", "se_population")


def _bytes(domain: Domain) -> int:
    one = _CELL_BYTES + sum(
        _LABEL_BYTES + len(v.name.encode()) + len("".join(v.categories).encode()) / v.size
        for v in domain
    )
    return int(domain.size * one)


def _write_csv(model: ContingencyTableMessage) -> str:
    """Return the table as CSV with one row per cell: its categories, then its numbers."""
    names = [variable.name for variable in model.variables]
    marked = (
        [bool(model.filled_in)] if isinstance(model.spec, CountsSpec) and model.spec.models else []
    )
    numbered = (*_NUMBERS, "low", "high", *(["filled_in"] if marked else []))
    rows = (
        [
            *(cell.values[name] for name in names),
            *(getattr(cell, number) for number in _NUMBERS),
            *cell.interval,
            *marked,
        ]
        for cell in model.cells
    )
    return csv_text([*(column_of(name, numbered) for name in names), *numbered], rows)


def _page(model: ContingencyTableMessage) -> str:
    cells = model.cells[:CELLS_SHOWN]
    largest = max((cell.projected for cell in cells), default=0.0) or 1.0
    return render("table.html.j2", model, cells=cells, largest=largest, most=CELLS_SHOWN)


class ContingencyTableKind(CountsKind[ContingencyTableSpec, ContingencyTableMessage]):
    """Jobs that estimate contingency tables."""

    spec, message = ContingencyTableSpec, ContingencyTableMessage
    views: ClassVar = {"page": _page, "csv": _write_csv}

    def variables(self, spec: ContingencyTableSpec, _reported: Domain) -> tuple[str, ...]:
        return tuple(spec.variables)

    def check(self, spec: ContingencyTableSpec) -> None:
        if len(set(spec.variables)) < len(spec.variables):
            raise OptionError("A variable is listed twice.", where="variables")
        if spec.groups and len(spec.variables) > 1:
            raise OptionError(
                "Groups are of the categories of one variable.",
                where="groups",
                remedy="Start a job for each variable.",
            )

    def require_affordable(
        self, spec: ContingencyTableSpec, extent: Extent, limits: Limits
    ) -> None:
        variables, layout, _records = extent
        domain = layout.domain.project(variables)
        require_at_most(
            domain.size, limits.model_parameters, "cells of the table", "variables", FEWER
        )
        require_at_most(_bytes(domain), MOST_BYTES, "bytes of the table", "variables", FEWER)
        require_table(spec, variables, layout, limits, where="variables")
        if spec.groups:
            require_groups(spec.groups, domain[spec.variables[0]].categories)

    def worth(
        self,
        spec: ContingencyTableSpec,
        marginals: Marginals,
        content: Content,  # noqa: ARG002 - the tests are of the reports
    ) -> Worth | None:
        return table_worth(marginals, spec.variables)

    def learn(self, spec: ContingencyTableSpec, marginals: Marginals, on_step: Progress) -> Content:
        """Return the raw counts with their errors and intervals, and the nearest valid counts."""
        on_step(0, 1)
        table = marginals.marginal(spec.variables)
        shares = project_to_simplex(table.counts.reshape(1, -1) / table.records)
        table = table.unshrunk
        errors = [np.sqrt(table.variance(population=among)) for among in (False, True)]
        numbers = np.stack(
            [table.counts.ravel(), shares.ravel() * table.records, *(e.ravel() for e in errors)]
        )
        low, high = table.interval(population=True)
        intervals = zip(low.ravel().tolist(), high.ravel().tolist(), strict=True)
        cells = [
            CellMessage(
                values={v.name: v.categories[c] for v, c in zip(table.domain, codes, strict=True)},
                **dict(zip(_NUMBERS, found, strict=True)),
                interval=ends,
            )
            for codes, found, ends in zip(
                np.ndindex(*table.domain.shape), numbers.T.tolist(), intervals, strict=True
            )
        ]
        levels = []
        if spec.groups:
            found = levels_of(table, table.domain[spec.variables[0]], spec.groups, LEVEL)
            levels = [LevelMessage(**asdict(row)) for row in found]
        on_step(1, 1)
        return {
            "variables": [
                NamedVariable(name=v.name, categories=list(v.categories)) for v in table.domain
            ],
            "cells": cells,
            "levels": levels,
        }
