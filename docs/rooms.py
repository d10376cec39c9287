"""Draws the rooms of the house from the code's own imports, and lists them in architecture.md.

`make rooms` writes `docs/images/rooms-*.svg` and the part of `docs/architecture.md`
between its two marks. A room is a folder of modules, or a module that stands alone in a package.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "architecture.md"
IMAGES = ROOT / "docs" / "images"

PLACES = {
    "pramana_core": ROOT / "shared",
    "owner_agent": ROOT,
    "miner_service": ROOT,
    "pramana": ROOT,
}
"""The packages, each with the folder that it is in."""
PACKAGES = tuple(PLACES)

MARKS = ("<!-- rooms: written by docs/rooms.py -->\n", "<!-- end of rooms -->\n")
TOTALS = ("<!-- totals: written by docs/rooms.py -->\n", "<!-- end of totals -->\n")

_LAYERS = """
core.errors
core.full_disks core.opening
core.domain core.progress core.pictures core.ties
core.terminal
core.channels core.discretize core.mixed core.audit
core.marginals core.plan core.kernel_regression core.mask.core core.model_sharing.core
core.estimation.core core.privacy.structures core.model_sharing.anonymity
core.estimation.evidence core.estimation.plausibility core.estimation.subpopulations
core.estimation.supports core.estimation.tables core.privacy core.learn.common
core.model_sharing.publishing
core.mask.methods core.mask.copies core.mask.measures.core
core.mask.synthetic core.regression core.mask.measures.security core.mask.measures.utility
core.mask core.mask.measures core.regression.exchange
core.mask.advice core.mask.comparison core.mask.pictures
core.estimation.pooled core.study_plan core.model_sharing.growing core.model_sharing.private
core.estimation core.learn.networks core.model_sharing.generation
core.model_sharing.global_models
core.learn.networks.search core.model_sharing.combination
core.learn.networks.exchange core.model_sharing.exchange core.design
core.learn.bayes_classifier
core.learn.rules core.learn.tree core.learn.linear core.learn.bayes_classifier.exchange
core.learn.rules.exchange core.learn.tree.exchange core.learn.linear.exchange
core.learn core.model_sharing core.wire
core.wire.releases
core.wire.learning
owner_agent.state miner_service.settings
owner_agent.randomize owner_agent.site miner_service.store.files
miner_service.store miner_service.store.migrations miner_service.store.migrations.versions
owner_agent.table miner_service.alignment miner_service.store.databases miner_service.store.queue
miner_service.store.holders
owner_agent.release miner_service.kinds.common
miner_service.kinds
owner_agent.report miner_service.mining
miner_service.services
owner_agent.design owner_agent.peer.protocol miner_service.intake
miner_service.jobs
miner_service.workers miner_service.operations
owner_agent.peer.identity owner_agent.peer.tasks miner_service.http.access
miner_service.http.metrics
owner_agent.http owner_agent.peer.exchange miner_service.http.gate
miner_service.http.listening
owner_agent.peer.session miner_service.http.routes
owner_agent.peer.disclosure miner_service.http
owner_agent.peer.members miner_service.cli
owner_agent.peer.transport
owner_agent.cli
pramana.setups pramana.network_command
pramana.simulate.inputs
pramana.frames pramana.simulate pramana.simulate.publishing
pramana.showing pramana.frequent_patterns pramana.simulate.model_sharing
pramana.planning pramana.reporting
pramana.owner pramana.exchange
pramana.networks
pramana.estimators
pramana.masking pramana.model_sharing
pramana.client pramana.saving
pramana.simulate.commands pramana.reproduce.engine pramana.demo
pramana.reproduce.data
pramana.reproduce.ma.chapter_2 pramana.reproduce.ma.chapter_3 pramana.reproduce.ma.chapter_5
pramana.reproduce.ma.chapter_6 pramana.reproduce.ma.chapter_7 pramana.reproduce.frapp
pramana.reproduce.frapp.bound pramana.reproduce.masiv pramana.reproduce.alahmadi
pramana.reproduce.sharkey
pramana.reproduce
pramana.cli
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


def imports(path: Path, names: Iterable[str]) -> set[str]:
    """Return which modules a file imports, wherever it does: in functions and for types, too."""
    known, found = set(names), set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            inner = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= (inner & known) or {node.module or ""}
    return found & known


def room_of(module: str, files: Mapping[str, Path]) -> str:
    """Return the room that a module is in; a module alone in a package is a room of its own."""
    if files[module].name == "__init__.py":
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
    """Return the table of all rooms with their numbers of files and what lives there."""
    lines = ["| room | files | what lives there |", "| --- | ---: | --- |"]
    for line in LAYERS.split("\n"):
        for room in line.split():
            path = files[room]
            count = 1
            if path.name == "__init__.py":
                count = len([p for p in path.parent.glob("*.py") if p.name != "__init__.py"])
            text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
            first = text.partition("\n\n")[0]
            lines.append(f"| `{room}` | {count} | {' '.join(first.split())} |")
    return "\n".join(lines) + "\n"


def pictures(files: Mapping[str, Path]) -> dict[str, str]:
    """Return the picture of each package as SVG: users above, what they import below."""
    from pramana_core.learn.networks.exchange.drawing import draw_structure
    from pramana_core.learn.networks.structure import Structure

    graph = arrows(files)
    made = {}
    for package in PACKAGES:
        below = reduced(inside(package, graph))
        users = {room: [other for other in below if room in below[other]] for room in below}
        made[f"rooms-{package}.svg"] = draw_structure(
            Structure.of(users), title=f"The rooms of {package} and what they import"
        )
    return made


def totals() -> str:
    """Return how large the house is: lines, modules and folders of each package and of tests."""
    places = {name: place / name for name, place in PLACES.items()}
    places |= {name: ROOT / name for name in ("benchmarks", "tests")}
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
    """Return architecture.md with the table of rooms as they are now."""
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
