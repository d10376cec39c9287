"""`owner-agent predict`: a model that came here predicts the class of this owner's own records."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from owner_agent.cli.options import JsonOption
from pramana_core.errors import OptionError
from pramana_core.terminal import console, print_json, progress_bar

if TYPE_CHECKING:
    from rich.console import Console

    from owner_agent.site.site import Site
    from owner_agent.table.predicting import InputSource, Predictions, ReadModel

PREDICTIONS = "predictions"
"""The folder of predictions in a site's state directory."""


def predict(
    model: Annotated[Path, typer.Argument(help="The model: a JSON file.")],
    table: Annotated[
        Path | None, typer.Argument(help="The records; by default the site file's table.")
    ] = None,
    site: Annotated[
        Path | None, typer.Option(help="The site file, if it says how the table is read.")
    ] = None,
    record_id: Annotated[
        str | None, typer.Option(help="The column of record ids, instead of the site file's.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="A new file for the predictions.")] = None,
    probabilities: Annotated[
        bool, typer.Option("--probabilities", help="Write those of all classes too.")
    ] = False,
    all_columns: Annotated[
        bool, typer.Option("--all-columns", help="Refuse a table without a column that it uses.")
    ] = False,
    json: JsonOption = False,
) -> None:
    """Predict a class for your own records; nothing is sent."""
    from owner_agent.site.site import load_site
    from owner_agent.table.predicting import read_model

    opened = None if site is None else load_site(site)
    source = _source(opened, table, record_id)
    wanted = Wanted(model.stem, out, probabilities, all_columns, json)
    predict_by(read_model(model), source, wanted, opened)


@dataclass(frozen=True)
class Wanted:
    """What is asked of a prediction: by a model of which name, where to, and what of it."""

    name: str
    out: Path | None
    probabilities: bool
    all_columns: bool
    json: bool


def predict_by(
    model: ReadModel, source: InputSource, wanted: Wanted, site: Site | None = None
) -> None:
    """Predict the class of records, write it, and say how many have which.

    Raises:
        OptionError: the file to write exists, or the model has no probabilities.
        TableError, UnknownCategory: as `owner_agent.table.predicting.predict` says.
    """
    from owner_agent.table.predicting import predict as predict_classes

    if wanted.out is not None and wanted.out.exists():
        raise _exists(wanted.out)
    with progress_bar("predicting") as tick:
        found = predict_classes(
            model,
            source,
            tick,
            probabilities=wanted.probabilities,
            all_columns=wanted.all_columns,
        )
    written = _write(found, site, source, wanted)
    told = _summary(model, found, written)
    print_json(told) if wanted.json else _show(console(), told, found.hint)


def _source(site: Site | None, table: Path | None, record_id: str | None) -> InputSource:
    from owner_agent.table.predicting import InputSource

    if site is not None:
        return InputSource.of_site(site, table, record_id)
    if table is None:
        raise OptionError(
            "No records are named.",
            where="table",
            remedy="Name a table after the model, or a site file with --site.",
        )
    return InputSource(table, record_id)


def _write(found: Predictions, site: Site | None, source: InputSource, wanted: Wanted) -> Path:
    """Write the predictions for this owner alone; return where.

    Without `out` that is in the site's state directory or else beside the table, in the place of
    earlier predictions by a model of this name.
    """
    from owner_agent.state.private_files import private_directory, write_new, write_replacing

    content, out = found.csv(), wanted.out
    try:
        if out is not None:
            write_new(out, content)
            return out
        if site is not None:
            place = private_directory(site.state / PREDICTIONS) / f"{wanted.name}.csv"
        else:
            place = source.table.with_name(f"{source.table.name}.{wanted.name}.{PREDICTIONS}.csv")
        write_replacing(place, content)
    except FileExistsError:
        raise _exists(out or source.table) from None
    except OSError as error:
        raise OptionError(
            f"The predictions cannot be written: {error.strerror}.",
            where="out",
            remedy="Name another place with --out.",
        ) from None
    return place


def _exists(out: Path) -> OptionError:
    return OptionError(
        f"{out} exists; it was not changed.", where="out", remedy="Name a new file with --out."
    )


def _summary(model: ReadModel, found: Predictions, written: Path) -> dict[str, Any]:
    return {
        "kind": model.kind,
        "target": found.target.name,
        "records": len(found.codes),
        "predicted": found.counts,
        "lacking": list(found.lacking),
        "file": str(written),
    }


def _show(console: Console, told: dict[str, Any], hint: str) -> None:
    shares = ", ".join(f"{label}: {count:,}" for label, count in told["predicted"].items())
    console.print(
        f"{told['target']!r} of {told['records']:,} records by the {told['kind']}: {shares}.",
        markup=False,
    )
    if told["lacking"]:
        console.print(
            f"The table has no column {', '.join(map(repr, told['lacking']))}{hint}, which the"
            " model uses: what is missing was summed out; --all-columns refuses such a table.",
            style="yellow",
            markup=False,
        )
    console.print(f"The predictions are in {told['file']}.", markup=False, soft_wrap=True)
