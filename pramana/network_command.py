"""`pramana network`: what one does with a network: ask it, draw records from it, convert it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pramana_core.errors import InputError, OptionError
from pramana_core.terminal import console, print_json, progress_bar

if TYPE_CHECKING:
    from pramana_core.learn.networks.documents import NetworkDocument
    from pramana_core.learn.networks.network import BayesNet
    from pramana_core.learn.networks.structure_learning import LearnedLink

STANDARD_OUTPUT = Path("-")

app = typer.Typer(
    help="Ask a network, draw records from it, show or convert it. FILE is BIF, JSON as `convert`"
    " writes it, a model as fetched from the miner, or one that pm.BayesNet saved.",
    no_args_is_help=True,
)

FileArgument = Annotated[Path, typer.Argument(metavar="FILE", help="The network.")]
OutOption = Annotated[Path, typer.Option(help="The file to write; - for standard output.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Write the result as JSON.")]


class Format(StrEnum):
    """What a network can be written as."""

    BIF = "bif"
    DOT = "dot"
    JSON = "json"
    SVG = "svg"


@app.command()
def query(
    file: FileArgument,
    of: Annotated[list[str], typer.Option(help="A node to ask for; several: jointly.")],
    given: Annotated[
        list[str] | None, typer.Option(metavar="NODE=CATEGORY", help="What is known.")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Print the distribution of nodes, given what is known of others (extra `inference`)."""
    from pramana_core.learn.networks.network import posterior

    network = read_network(file).network
    answer = posterior(network, of, _evidence(network, given or []))
    rows = [{"values": values, "probability": p} for values, p in answer.rows()]
    if json:
        print_json(
            {
                "of": of,
                "given": dict(answer.evidence),
                "given_probability": answer.evidence_probability,
                "rows": rows,
            }
        )
        return
    _table(
        [*of, "probability"],
        ([*values.values(), f"{p:.6f}"] for values, p in answer.rows()),
        right={"probability"},
    )
    if answer.evidence:
        console().print(f"What is given has probability {answer.evidence_probability:.6g}.")


@app.command()
def sample(
    file: FileArgument,
    records: Annotated[int, typer.Option(help="How many records to draw.")],
    out: OutOption,
    seed: Annotated[int, typer.Option(help="The same seed draws the same records.")] = 0,
    json: JsonOption = False,
) -> None:
    """Draw synthetic records from a network and write them as CSV."""
    from pramana_core.learn.networks.network import CHUNK, sample_csv

    _require_one_output(out, json=json)
    pieces = sample_csv(read_network(file).network, records, seed)
    with progress_bar("drawing records") as tick:
        _write(out, _watched(pieces, lambda piece: tick(min(piece * CHUNK, records), records)))
    _done(out, {"records": records, "seed": seed}, json=json)


@app.command()
def convert(
    file: FileArgument,
    to: Annotated[Format, typer.Option(help="The format to write.")],
    out: OutOption,
    json: JsonOption = False,
) -> None:
    """Write a network in another format; DOT and SVG show how sure each learned link is."""
    _require_one_output(out, json=json)
    _write(out, [_formatted(read_network(file), to, file.stem)])
    _done(out, {"format": to.value}, json=json)


@app.command()
def show(file: FileArgument, json: JsonOption = False) -> None:
    """Print a network's nodes and parents, and what was learned of its links."""
    document = read_network(file)
    structure, domain = document.network.structure, document.network.domain
    if json:
        print_json(_described(document))
        return
    _table(
        ["node", "categories", "parents"],
        ([n, str(domain[n].size), ", ".join(p) or "-"] for n, p in structure.families),
        right={"categories"},
    )
    console().print(
        f"{len(structure.nodes)} nodes, {len(structure.links)} links,"
        f" {_free(document.network)} free parameters."
    )
    if document.links:
        _table(
            ["parent", "child", "gain", "inflation", "confidence", "direction"],
            (_link_cells(link) for link in document.links),
            right={"gain", "inflation", "confidence"},
        )


def read_network(file: Path) -> NetworkDocument:
    """Read a network from a file, of whichever format it is.

    Raises:
        InputError: the file cannot be read, or holds no network.
    """
    from pramana_core.learn.networks.bif import read_bif
    from pramana_core.learn.networks.documents import NetworkDocument, read_network_json

    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not text"
        raise InputError(
            f"The network {file} cannot be read: {reason}.",
            where=str(file),
            remedy="Give a BIF file, a JSON file or a model as fetched from the miner.",
        ) from None
    if text.lstrip().startswith("{"):
        return read_network_json(_of_saved(text))
    return NetworkDocument(read_bif(text))


def _of_saved(text: str) -> str:
    """Return the network's own JSON of what `pm.BayesNet.save` wrote; other JSON as it is."""
    import json

    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        return text  # what is wrong is said where it is read
    saved = isinstance(body, dict) and body.get("format") == "pramana-model"
    return json.dumps(body.get("document")) if saved else text


def _formatted(document: NetworkDocument, to: Format, name: str) -> str:
    from pramana_core.learn.networks.bif import write_bif, write_dot
    from pramana_core.learn.networks.documents import write_network_json
    from pramana_core.learn.networks.drawing import draw_structure

    network = document.network
    if to is Format.BIF:
        return write_bif(network, name)
    if to is Format.DOT:
        return write_dot(network.structure, name, document.confidence)
    if to is Format.JSON:
        return write_network_json(network, document.links)
    return draw_structure(network.structure, confidence=document.confidence).svg() + "\n"


def _evidence(network: BayesNet, given: list[str]) -> dict[str, str]:
    """Read NODE=CATEGORY pairs; a node's name may itself have an equals sign."""
    evidence: dict[str, str] = {}
    for pair in given:
        splits = [(pair[:i], pair[i + 1 :]) for i, letter in enumerate(pair) if letter == "="]
        known = [split for split in splits if split[0] in network.structure.parents]
        if not splits:
            raise OptionError(
                f"{pair!r} does not say what is known.",
                where="--given",
                remedy="Write --given NODE=CATEGORY.",
            )
        name, label = (known or splits)[0]
        if name in evidence:
            raise OptionError(f"--given names {name!r} twice.", where="--given")
        evidence[name] = label
    return evidence


def _described(document: NetworkDocument) -> dict[str, Any]:
    from pramana_core.learn.networks.documents import link_json

    network = document.network
    return {
        "nodes": [
            {
                "name": name,
                "categories": list(network.domain[name].categories),
                "parents": list(parents),
            }
            for name, parents in network.structure.families
        ],
        "free_parameters": _free(network),
        "links": [link_json(link) for link in document.links],
    }


def _free(network: BayesNet) -> int:
    return sum(table.size - table.size // table.shape[-1] for table in network.tables.values())


def _link_cells(link: LearnedLink) -> list[str]:
    sure = "-" if link.confidence is None else f"{link.confidence:.0%}"
    direction = "compelled" if link.compelled else "open"
    return [link.parent, link.child, f"{link.gain:.1f}", f"{link.inflation:.3g}", sure, direction]


def _table(columns: list[str], rows: Iterable[list[str]], *, right: set[str]) -> None:
    from rich.markup import escape
    from rich.table import Table

    shown = Table(box=None, pad_edge=False)
    for column in columns:
        justify: Any = "right" if column in right else "left"
        shown.add_column(escape(column), justify=justify, overflow="fold")
    for row in rows:
        shown.add_row(*map(escape, row))
    console().print(shown)


def _write(out: Path, pieces: Iterable[str]) -> None:
    """Write a file whole or not at all, or to standard output for `-`. Raises OptionError."""
    if out == STANDARD_OUTPUT:
        sys.stdout.writelines(pieces)
        return
    scratch = out.with_name(f".{out.name}.part")
    try:
        with scratch.open("w", encoding="utf-8", newline="") as target:
            target.writelines(pieces)
        scratch.replace(out)
    except OSError as error:
        raise OptionError(
            f"{out} cannot be written: {error.strerror}.",
            where="--out",
            remedy="Name a file in a folder that is there.",
        ) from None
    finally:
        scratch.unlink(missing_ok=True)


def _watched(pieces: Iterator[str], tick: Callable[[int], None]) -> Iterator[str]:
    for number, piece in enumerate(pieces):
        tick(number)
        yield piece


def _require_one_output(out: Path, *, json: bool) -> None:
    if json and out == STANDARD_OUTPUT:
        raise OptionError(
            "--out - and --json both write to standard output.",
            where="--out",
            remedy="Leave out --json, or name a file.",
        )


def _done(out: Path, what: dict[str, Any], *, json: bool) -> None:
    if out == STANDARD_OUTPUT:
        return
    if json:
        print_json({"out": str(out), **what})
    else:
        console().print(f"Written  {out}", markup=False, soft_wrap=True)
