"""Draws the rooms of the house from the code's own imports, and lists them in rooms.md.

`make rooms` writes `docs/images/rooms-*.svg` and the parts of `docs/rooms.md`
between their marks. A room is a folder of modules, or a module that stands alone in a package.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "rooms.md"
IMAGES = ROOT / "docs" / "images"

PLACES = {
    "pramana_core": ROOT / "shared",
    "owner_agent": ROOT,
    "miner_service": ROOT,
    "pramana": ROOT,
    "benchmarks": ROOT,
}
"""The packages, each with the folder that it is in."""
PACKAGES = tuple(PLACES)
PRODUCT = PACKAGES[:-1]
"""What is in the wheel: all but what measures it."""

MARKS = ("<!-- rooms: written by docs/rooms.py -->\n", "<!-- end of rooms -->\n")
TOTALS = ("<!-- totals: written by docs/rooms.py -->\n", "<!-- end of totals -->\n")

_LAYERS = """
benchmarks.bench_peers benchmarks.plain_server
core.alike core.canonical core.csv_text
core.errors core.pictures core.progress core.rounding core.spellings core.text_files core.ties
pramana.errors core.domain
core.channels
core.cells core.encoding core.full_disks core.kernels core.opening
owner_agent.healthcheck miner_service.healthcheck miner_service.logs
core.mixed
core.discretize core.marginals core.plan core.terminal
core.audit core.determined core.learn.common
core.kernel_regression core.privacy
owner_agent.state core.estimation core.learn.rules core.mask.core
core.mask.measures core.mask.methods core.model_sharing core.pages core.report
core.doctor core.learn.networks core.study_plan
core.design core.mask
core.regression
core.learn.bayes_classifier
core.model_sharing.global_models
core.learn.linear
core.learn.tree
core.learn core.model_sharing.exchange
core.wire
owner_agent.site miner_service.settings owner_agent.randomize owner_agent.http
miner_service.store.revisions miner_service.store.revisions.versions
miner_service.store owner_agent.table
pramana.setups
miner_service.alignment
miner_service.kinds
owner_agent.peer.protocol owner_agent.release
pramana.demo
miner_service.services
owner_agent.report pramana.simulate
miner_service.intake owner_agent.design
owner_agent.doctor owner_agent.peer.exchange pramana.frames pramana.simulate.commands
miner_service.jobs miner_service.backup owner_agent.peer
pramana.exchange pramana.showing
miner_service.http.access owner_agent.pages pramana.reporting
pramana.designing
owner_agent.cli pramana.networks pramana.owner pramana.plans
owner_agent.__main__
miner_service.http.endpoints pramana.estimators pramana.masking
miner_service.http.pages pramana.model_sharing
miner_service.http pramana.client pramana.saving
miner_service.checking miner_service.doctor
miner_service.cli pramana.study_command
miner_service.__main__ pramana.cli
pramana.__main__
benchmarks.coverage benchmarks.load benchmarks.reproduce
benchmarks.bench benchmarks.coverage.__main__
benchmarks.bench.__main__ benchmarks.reproduce.ma
benchmarks.reproduce.sharkey
benchmarks.whole_record
"""

LAYERS = re.sub(r"\bcore\.", "pramana_core.", _LAYERS)
"""The rooms from the bottom to the top: each may import those of the lines above its own."""


def modules() -> dict[str, Path]:
    """Return every module of the packages: its dotted name and its file."""
    found = {}
    for package, place in PLACES.items():
        for path in sorted((place / package).rglob("*.py")):
            parts = path.relative_to(place).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


@dataclass(frozen=True)
class Parsed:
    """What is asked of a file: its text, its docstring, the names it imports and takes."""

    text: str
    docstring: str
    imports: tuple[ast.Import | ast.ImportFrom, ...]
    at_once: tuple[ast.Import | ast.ImportFrom, ...]
    attributes: frozenset[str]


@cache
def parsed(path: Path) -> Parsed:
    """Return what a file holds, parsed once: its imports anywhere, and those outside all else."""
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    nodes = list(ast.walk(tree))
    kinds = (ast.Import, ast.ImportFrom)
    return Parsed(
        text,
        ast.get_docstring(tree) or "",
        tuple(node for node in nodes if isinstance(node, kinds)),
        tuple(node for node in tree.body if isinstance(node, kinds)),
        frozenset(node.attr for node in nodes if isinstance(node, ast.Attribute)),
    )


def imports(path: Path, names: Iterable[str]) -> set[str]:
    """Return which modules a file imports, wherever it does: in functions and for types, too."""
    known, found = set(names), set()
    for node in parsed(path).imports:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        else:
            inner = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= (inner & known) or {node.module or ""}
    return found & known


def room_of(module: str, files: Mapping[str, Path]) -> str:
    """Return the room that a module is in; one alone in a package, or a program, is its own."""
    if files[module].name in ("__init__.py", "__main__.py"):
        return module
    folder = module.rpartition(".")[0]
    return module if folder in PACKAGES else folder


def used(files: Mapping[str, Path]) -> dict[str, set[str]]:
    """Return for each module those it imports, itself left out."""
    return {name: imports(path, files) - {name} for name, path in files.items()}


def arrows(files: Mapping[str, Path]) -> dict[str, set[str]]:
    """Return for each room the rooms it imports."""
    found: dict[str, set[str]] = {}
    for name, others in used(files).items():
        room = room_of(name, files)
        found.setdefault(room, set()).update(room_of(other, files) for other in others)
    return {room: others - {room, *PACKAGES} for room, others in found.items()}


def reduced(graph: Mapping[str, set[str]]) -> dict[str, set[str]]:
    """Return a graph without circles less the arrows that others imply."""

    @cache
    def reached(node: str) -> set[str]:
        return set().union(*({below} | reached(below) for below in graph.get(node, ())))

    return {
        node: below - set().union(*(reached(other) for other in below))
        for node, below in graph.items()
    }


def inside(package: str, graph: Mapping[str, set[str]]) -> dict[str, set[str]]:
    """Return the arrows between a package's own rooms, each with the rooms inside it as one."""

    def short(room: str) -> str:
        return room.split(".")[1] if "." in room else ""

    found: dict[str, set[str]] = {}
    for room, others in graph.items():
        if room.startswith(f"{package}.") and not room.endswith("__main__"):
            below = {short(other) for other in others if other.startswith(f"{package}.")}
            found.setdefault(short(room), set()).update(below - {short(room), ""})
    return found


def listing(files: Mapping[str, Path]) -> str:
    """Return a table for each package of its rooms, with their numbers of files and what they hold.

    What others use stands below what uses it, so that entrances come first; a room within another
    follows that one.
    """
    height = {r: at for at, line in enumerate(LAYERS.split("\n")) for r in line.split()}
    tops: dict[str, int] = {}
    for room, at in height.items():
        top = ".".join(room.split(".")[:2])
        tops[top] = max(at, tops.get(top, 0))

    def place(room: str) -> tuple[object, ...]:
        names = room.split(".")
        around = [".".join(names[:depth]) for depth in range(2, len(names) + 1)]
        return tuple((-tops.get(name, height.get(name, 0)), name) for name in around)

    lines = []
    for package in PACKAGES:
        own = sorted((room for room in height if room.startswith(f"{package}.")), key=place)
        lines += [f"`{package}`: {_first(files[package])}", ""]
        lines += ["| room | files | what lives there |", "| --- | ---: | --- |"]
        for room in own:
            path, count = files[room], 1
            if path.name == "__init__.py":
                count = len([p for p in path.parent.glob("*.py") if p.name != "__init__.py"])
            short = room.removeprefix(f"{package}.")
            nested = "&emsp;" * short.count(".")
            lines.append(f"| {nested}`{short}` | {count} | {_first(path)} |")
        lines.append("")
    return "\n".join(lines)


def _first(path: Path) -> str:
    """Return the first paragraph of a file's docstring, in one line."""
    return " ".join(parsed(path).docstring.partition("\n\n")[0].split())


def pictures(files: Mapping[str, Path]) -> dict[str, str]:
    """Return the picture of each package as SVG: users above, what they import below."""
    from pramana_core.learn.networks.drawing import draw_structure
    from pramana_core.learn.networks.structure import Structure

    graph = arrows(files)
    made = {}
    for package in PACKAGES:
        below = reduced(inside(package, graph))
        users = {room: [other for other in below if room in below[other]] for room in below}
        made[f"rooms-{package}.svg"] = draw_structure(
            Structure.of(users), title=f"The rooms of {package} and what they import"
        ).svg()
    return made


def totals() -> str:
    """Return how large the house is: lines, modules and folders of each package and of tests."""
    places = {name: place / name for name, place in PLACES.items()}
    places |= {name: ROOT / name for name in ("tests",)}
    rows = []
    for name, place in places.items():
        files = sorted(place.rglob("*.py"))
        lines = sum(path.read_text(encoding="utf-8").count("\n") for path in files)
        rows.append((name, lines, len(files), len({path.parent for path in files})))
    source = ["source", *(sum(column) for column in zip(*(r[1:] for r in rows[:-1]), strict=True))]
    table = [*rows[:-1], source, rows[-1]]
    head = ["| | lines | modules | folders |", "| --- | ---: | ---: | ---: |"]
    return "\n".join([*head, *("| {} | {:,} | {:,} | {:,} |".format(*row) for row in table)]) + "\n"


def page(text: str, files: Mapping[str, Path]) -> str:
    """Return rooms.md with the table of rooms as they are now."""
    return _between(MARKS, listing(files), text)


def _between(marks: tuple[str, str], written: str, text: str) -> str:
    start, end = (re.escape(mark) for mark in marks)
    return re.sub(f"{start}.*{end}", lambda _: marks[0] + written + marks[1], text, flags=re.DOTALL)


def main() -> None:
    """Write pictures and table."""
    files = modules()
    for name, drawn in pictures(files).items():
        (IMAGES / name).write_text(drawn, encoding="utf-8")
    text = page(PAGE.read_text(encoding="utf-8"), files)
    PAGE.write_text(_between(TOTALS, totals(), text), encoding="utf-8")


if __name__ == "__main__":
    main()
