"""Randomized records on the folds of shared trees: both are asked about the same records."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.reproduce.experiment import Setting
from benchmarks.reproduce.sharkey.cells import folds
from benchmarks.reproduce.sharkey.tables import table_of
from pramana.setups.owner import SeededOwner
from pramana.simulate.classifiers import simulate
from pramana.simulate.designs import designed
from pramana.simulate.model_sharing_options import SimulationOptions
from pramana.simulate.model_sharing_simulation import Fold, PreparedTable
from pramana.simulate.model_sharing_tables import SharingTable
from pramana.simulate.sources import TableSource
from pramana.simulate.study import Trial, Trials
from pramana_core.design import goal
from pramana_core.domain import Domain, Variable
from pramana_core.learn.tree.growth import learn_tree
from pramana_core.marginals.counts import Codes, ReportedCounts
from pramana_core.mixed.table import CategoricalColumn
from pramana_core.wire.parts import code_dtype


@dataclass(frozen=True, eq=False)
class FoldTrials(Trials):
    """Trials whose runs hold out one fold each.

    Attributes:
        parts: the folds of the source's records, one for each run.
    """

    parts: tuple[Fold, ...] = ()

    def __iter__(self) -> Iterator[Trial]:
        owner = SeededOwner.of("simulate", self.seed, self.records)
        everything = self.source.draw(self.records, np.random.default_rng(self.seed))
        sizes = {v.name: v.size for v in self.source.domain}
        for index, fold in enumerate(self.parts):
            train, test = (_rows(everything, rows) for rows in (fold.train, fold.test))
            reported = owner.report(self.plan, train, index)
            yield Trial(index, ReportedCounts(train, sizes), reported, test)


def randomized(setting: Setting, table: str, gamma: float) -> dict[str, Any]:
    """Return accuracy, its deviation and that of the most frequent class under a designed plan.

    Each record reports by itself under the one plan, so that it does not matter whose it is.

    Args:
        setting: of the experiment.
        table: the name of the table, all of whose columns are of categories.
        gamma: the most by which two records' chances of one report differ, whole records.
    """
    held = table_of(setting, table)
    source = source_of(held)
    parts = tuple(
        PreparedTable(held).folds(SimulationOptions(folds=folds(setting), seed=setting.seed))
    )
    wanted = goal(source.domain, "tree", target=held.target)
    plan = designed(source.domain, "auto", gamma, wanted, len(parts[0].train))
    trials = FoldTrials(
        source, plan.plan, source.records, len(parts), setting.seed,
        holdout=1 / len(parts), parts=parts,
    )  # fmt: skip
    found = simulate(
        "tree",
        held.target,
        trials,
        lambda marginals, _seed: learn_tree(marginals, held.target),
        {},
        plan.estimator,
    ).as_dict()
    return {
        "table": table,
        "model": "tree",
        "promise": f"{math.log(gamma):.1f}",
        "accuracy": found["accuracy"]["mean"],
        "accuracy_sd": found["accuracy"]["sd"],
        "majority": found["majority"]["mean"],
        "folds": len(parts),
        "without_model": 0,
    }


def source_of(table: SharingTable) -> TableSource:
    """Return a table of categories as a source of records, in the same order.

    Raises TypeError for a column of numbers, which would have to be cut first.
    """
    codes: dict[str, Codes] = {}
    variables = []
    for column in table.records.columns:
        if not isinstance(column, CategoricalColumn):
            raise TypeError(f"{column.name} is a column of numbers")
        variables.append(Variable(column.name, column.categories))
        codes[column.name] = column.codes.astype(code_dtype(len(column.categories)))
    return TableSource(table.name, Domain(tuple(variables)), codes, table.note)


def _rows(codes: dict[str, Codes], rows: Any) -> dict[str, Codes]:
    return {name: column[rows] for name, column in codes.items()}
