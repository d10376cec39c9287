"""`pramana simulate model-sharing`."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pramana.simulate.commands import options as given
from pramana.simulate.model_sharing_options import SimulationOptions

if TYPE_CHECKING:
    from pramana_core.model_sharing.requirements import Requirement

Table = Annotated[Path, typer.Option(help="The records: a CSV or Parquet table.")]
K = Annotated[int | None, typer.Option("--k", help="The fewest records of a path.")]
L = Annotated[int | None, typer.Option("--l", help="(c, l)-diversity: classes on a path.")]
C = Annotated[
    float | None, typer.Option("--c", help="(c, l)-diversity: how far one class may outweigh.")
]
Exact = Annotated[
    bool | None,
    typer.Option(
        "--exact/--by-hits",
        help="(c, l)-diversity by the counts of all classes, or by hits and misses, the paper's"
        " and the default.",
    ),
]


@given.with_options(options=SimulationOptions)
def model_sharing(
    table: Table,
    target: given.Target,
    options: partial[SimulationOptions],
    k: K = None,
    l: L = None,  # noqa: E741
    c: C = None,
    exact: Exact = None,
    json: given.Json = False,
    out: given.Out = None,
) -> None:
    """Measure what a miner learns from trees that owners share in place of records.

    One fold is held out, the others are divided among the owners; each prunes its own tree until it
    meets the requirement, and the miner learns from what is released. A tree that cannot meet it is
    not released; a fold without any counts as told by the most frequent class. Exit codes: 0 done;
    2 bad input; 4 too large.
    """
    with given.options_as_typed():
        asked = _requirement(k, c, l, exact)
        chosen = options(requirement=asked)
    _simulate(table, target, chosen, given.Answer(json, out))


def _requirement(
    k: int | None,
    c: float | None,
    l: int | None,  # noqa: E741
    exact: bool | None,
) -> Requirement | None:
    from pramana_core.model_sharing.requirements import Requirement

    return None if [k, c, l] == [None] * 3 else Requirement(k, c, l, bool(exact))


def _simulate(
    table: Path,
    target: str,
    options: SimulationOptions,
    answer: given.Answer,
) -> None:
    from pramana.simulate.commands.display import show_sharing
    from pramana.simulate.model_sharing_simulation import simulate
    from pramana.simulate.model_sharing_tables import read_sharing_table
    from pramana.simulate.study import require_place

    require_place(answer.out)
    read = read_sharing_table(table, target)
    folds = f"{options.folds * options.runs} folds"
    with given.watched(folds) as watch, given.options_as_typed():
        outcome = simulate(read, options, watch)
    given.tell(outcome, answer, show_sharing)
