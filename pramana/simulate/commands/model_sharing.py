"""`pramana simulate model-sharing`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pramana.simulate.commands import options as given
from pramana.simulate.model_sharing_options import (
    PUBLISHER,
    Absent,
    By,
    Counts,
    Global,
    Merge,
    Method,
    Misses,
    Numeric,
    SimulationOptions,
    Spread,
    Tell,
    Weights,
)
from pramana_core.errors import OptionError

if TYPE_CHECKING:
    from pramana_core.model_sharing.requirements import Requirement

Table = Annotated[Path, typer.Option(help="The records: a CSV or Parquet table.")]
Owners = Annotated[int, typer.Option(help="Among how many owners they are divided, at random.")]
MethodOption = Annotated[
    Method,
    typer.Option(
        help="pgen, basegen: pseudo-data by paths, or labelled by each tree; labelled: by the votes"
        " of all; votes, product: the trees themselves; ldiversity: records made l-diverse; pooled:"
        " all records; local: each owner alone."
    ),
]
K = Annotated[int | None, typer.Option("--k", help="The fewest records of a path.")]
L = Annotated[int | None, typer.Option("--l", help="(c, l)-diversity: classes on a path.")]
C = Annotated[
    float | None, typer.Option("--c", help="(c, l)-diversity: how far one class may outweigh.")
]
GlobalOption = Annotated[Global, typer.Option("--global", help="What the miner learns.")]
Folds = Annotated[int, typer.Option(help="Each of so many parts of the records is held out once.")]
Runs = Annotated[int, typer.Option(help="How often all folds are drawn anew.")]
Seed = Annotated[int, typer.Option(help="Decides folds, owners and pseudo-data.")]
Exact = Annotated[
    bool | None,
    typer.Option(
        "--exact/--by-hits",
        help="(c, l)-diversity by the counts of all classes, or by hits and misses, the paper's;"
        " by default by hits and misses, for ldiversity always by the counts.",
    ),
]
ByOption = Annotated[
    By, typer.Option(help="pruning: grow, then prune; growing: split only where parts can meet it.")
]
MergeOption = Annotated[
    Merge, typer.Option(help="Which siblings are merged where one does not meet the requirement.")
]
Taxonomies = Annotated[
    Path | None,
    typer.Option(
        help="Which categories belong together, for --merge taxonomy and for ldiversity: a TOML"
        " file with a section [TABLE.COLUMN] for each column, lists of categories by group."
    ),
]
LeastGain = Annotated[
    float | None,
    typer.Option(
        help="By pruning: how many more records each path must tell rightly, or it is cut; with"
        " (c, l) try 3."
    ),
]
CountsOption = Annotated[
    Counts, typer.Option(help="Counts of merged nodes: exact, or the paper's equation 1.")
]
TellOption = Annotated[
    Tell | None,
    typer.Option(
        help="What leaves tell: hits and misses (default for pgen and basegen), or all classes."
    ),
]
Scale = Annotated[float, typer.Option(help="Pseudo-records for each record of a tree.")]
Epsilon = Annotated[
    float | None, typer.Option(help="Differentially private trees, in place of a requirement.")
]
NumericOption = Annotated[
    Numeric | None,
    typer.Option(
        help="The number of an interval: drawn evenly, its middle, its end, ...; by default as the"
        " method has it: evenly for pgen and basegen, marginal for labelled."
    ),
]
AbsentOption = Annotated[
    Absent | None,
    typer.Option(
        help="Where values of attributes come from that a path does not ask for; by default as for"
        " --numeric."
    ),
]
MissesOption = Annotated[
    Misses | None, typer.Option(help="Which classes misses take where leaves tell hits alone.")
]
SpreadOption = Annotated[
    Spread | None,
    typer.Option(
        help="Values drawn independently, or more evenly than by chance, the default of labelled."
    ),
]
WeightsOption = Annotated[
    Weights,
    typer.Option(help="Votes of all trees alike, or by the records of the tree or of the leaf."),
]

PublisherOption = Annotated[
    str | None,
    typer.Option(
        help="For ldiversity: the Python that has anjana, or full-domain for our own search; by"
        f" default {PUBLISHER} of the environment."
    ),
]


def model_sharing(
    table: Table,
    target: given.Target,
    owners: Owners = SimulationOptions.owners,
    method: MethodOption = SimulationOptions.method,
    k: K = None,
    l: L = None,  # noqa: E741
    c: C = None,
    model: GlobalOption = SimulationOptions.model,
    exact: Exact = None,
    by: ByOption = SimulationOptions.by,
    merge: MergeOption = SimulationOptions.merge,
    taxonomies: Taxonomies = None,
    least_gain: LeastGain = SimulationOptions.least_gain,
    counts: CountsOption = SimulationOptions.counts,
    tell: TellOption = SimulationOptions.tell,
    scale: Scale = SimulationOptions.scale,
    epsilon: Epsilon = SimulationOptions.epsilon,
    numeric: NumericOption = SimulationOptions.numeric,
    absent: AbsentOption = SimulationOptions.absent,
    misses: MissesOption = SimulationOptions.misses,
    spread: SpreadOption = SimulationOptions.spread,
    weights: WeightsOption = SimulationOptions.weights,
    publisher: PublisherOption = None,
    folds: Folds = SimulationOptions.folds,
    runs: Runs = SimulationOptions.runs,
    seed: Seed = SimulationOptions.seed,
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
        options = SimulationOptions(
            owners=owners,
            method=method,
            model=model,
            requirement=_requirement(k, c, l, exact, method),
            by=by,
            merge=merge,
            least_gain=least_gain,
            counts=counts,
            tell=tell,
            scale=scale,
            epsilon=epsilon,
            numeric=numeric,
            absent=absent,
            misses=misses,
            spread=spread,
            weights=weights,
            publisher=publisher,
            folds=folds,
            runs=runs,
            seed=seed,
        )
    _simulate(table, target, options, taxonomies, given.Answer(json, out))


def _requirement(
    k: int | None,
    c: float | None,
    l: int | None,  # noqa: E741
    exact: bool | None,
    method: Method,
) -> Requirement | None:
    from pramana_core.model_sharing.requirements import Requirement

    if method == "ldiversity" and exact is False:
        raise OptionError(
            "--by-hits is for trees: records are made l-diverse by the counts of all classes.",
            where="--by-hits",
        )
    return None if [k, c, l] == [None] * 3 else Requirement(k, c, l, bool(exact))


def _simulate(
    table: Path,
    target: str,
    options: SimulationOptions,
    taxonomies: Path | None,
    answer: given.Answer,
) -> None:
    from pramana.simulate.commands.display import show_sharing
    from pramana.simulate.model_sharing_simulation import simulate
    from pramana.simulate.model_sharing_tables import called, read_sharing_table, taxonomies_for
    from pramana.simulate.study import require_place

    require_place(answer.out)
    read = read_sharing_table(table, target)
    if taxonomies is not None:
        options = options.with_(taxonomies=taxonomies_for(read, taxonomies, called(table)))
    folds = f"{options.folds * options.runs} folds"
    with given.watched(folds) as watch, given.options_as_typed():
        outcome = simulate(read, options, watch)
    given.tell(outcome, answer, show_sharing)
