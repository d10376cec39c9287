"""The house: layers of rooms, listed in docs/rooms.py, and what must hold in each of them."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from docs.rooms import (
    IMAGES,
    LAYERS,
    PACKAGES,
    PAGE,
    arrows,
    imports,
    modules,
    page,
    parsed,
    pictures,
    room_of,
    used,
)

FILES = modules()

LAYER = {room: height for height, line in enumerate(LAYERS.split("\n")) for room in line.split()}

ALLOWED = {
    "pramana_core": {"pramana_core"},
    "owner_agent": {"owner_agent", "pramana_core"},
    "miner_service": {"miner_service", "pramana_core"},
    "pramana": {"pramana", "owner_agent", "miner_service", "pramana_core"},
    "benchmarks": set(PACKAGES),
}
"""Which packages a package may use."""

LEARNERS = tuple(
    f"pramana_core.{room}"
    for room in (
        "alike",
        "csv_text",
        "domain",
        "encoding",
        "errors",
        "learn",
        "marginals",
        "pictures",
        "progress",
        "spellings",
        "ties",
    )
)
"""Learners see marginals: never rows of reports, matrices, plans or estimators."""

EFFECTS = {"httpx", "fastapi", "uvicorn", "sqlalchemy", "socket", "requests"}
"""No sockets and no SQL in `pramana_core`."""

LAZY = {"matplotlib", "numba", "sklearn", "dask"}
"""Heavy libraries are imported inside the function that needs them."""

SAMPLERS = {
    "pramana_core.estimation.evidence",
    "pramana_core.estimation.pooled_tables",
    "pramana_core.estimation.table_estimates",
    "pramana_core.learn.common.distributions",
    "pramana_core.learn.bayes_classifier.information",
    "pramana_core.learn.bayes_classifier.replicates",
    "pramana_core.learn.linear.pocket",
    "pramana_core.learn.networks.network",
    "pramana_core.learn.networks.dependence",
    "pramana_core.learn.networks.scores",
    "pramana_core.learn.networks.structure_learning",
    "pramana_core.marginals.counts",
    "pramana_core.marginals.tables",
    "pramana_core.mask.catalogue",
    "pramana_core.model_sharing.global_models.combining",
    "pramana_core.model_sharing.generating",
    "pramana_core.model_sharing.private",
}
"""What samples networks or resamples reports, all by a generator it is given (made of a seed in
`pramana_core.learn.common.distributions` alone)."""


def inside(package: str) -> list[tuple[str, Path]]:
    found = [(name, path) for name, path in FILES.items() if name.split(".")[0] == package]
    assert found
    return found


def roots(path: Path, *, top_level: bool = False) -> set[str]:
    """What a file imports, by the first part of its name."""
    found = parsed(path)
    names: set[str] = set()
    for node in found.at_once if top_level else found.imports:
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        else:
            assert node.level == 0, f"{path} has a relative import"
            names.add(node.module or "")
    return {name.split(".")[0] for name in names}


def upward(graph: Mapping[str, set[str]], layer: Mapping[str, int]) -> list[tuple[str, str]]:
    """The arrows that do not lead to a lower layer."""
    return [(room, other) for room in graph for other in graph[room] if layer[other] >= layer[room]]


def circles(graph: Mapping[str, set[str]]) -> Iterator[list[str]]:
    """Yield one circle through each node that is on any."""
    left = {node: set(below) for node, below in graph.items()}
    while ends := [node for node, below in left.items() if not below & left.keys()]:
        for node in ends:  # on no circle: nothing that is left lies below it
            del left[node]
    for start in left:
        ways = [[start]]
        seen = {start}
        while ways:
            way = ways.pop()
            for below in graph.get(way[-1], ()):
                if below == start:
                    yield [*way, start]
                    ways = []
                    break
                if below not in seen:
                    seen.add(below)
                    ways.append([*way, below])


@pytest.mark.slow
@pytest.mark.parametrize("package", PACKAGES)
def test_packages_import_one_way(package: str):
    for name, path in inside(package):
        assert roots(path) & set(PACKAGES) <= ALLOWED[package], name


@pytest.mark.slow
def test_no_file_is_on_a_circle_of_imports():
    """Imports for types alone count, too."""
    assert not list(circles(used(FILES)))


@pytest.mark.slow
def test_rooms_import_only_what_lies_below_them():
    graph = arrows(FILES)
    assert not upward({room: below for room, below in graph.items() if room in LAYER}, LAYER)


def test_every_module_is_in_a_room_of_the_list():
    for name, path in FILES.items():
        if path.name not in ("__init__.py", "__main__.py"):
            assert room_of(name, FILES) in LAYER, name


@pytest.mark.slow
def test_learners_see_marginals_alone():
    for name, others in used(FILES).items():
        if name.startswith("pramana_core.learn"):
            assert all(other.startswith(LEARNERS) for other in others), name


def test_a_room_says_what_lives_in_it_and_what_does_not():
    for name, path in FILES.items():
        if path.name == "__init__.py":
            assert "\n\n" in parsed(path).docstring, (
                f"{name} needs what lives there and what does not"
            )


def headings(text: str) -> Iterator[str]:
    """Yield the first words of each comment that stands alone between the parts of a module."""
    lines = text.split("\n")
    code = {
        number
        for node in ast.parse(text).body
        for number in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }
    for number, line in enumerate(lines, start=1):
        if line.startswith("# ") and number not in code and not lines[number - 2].strip():
            after = number
            while lines[after].startswith("#"):
                after += 1
            if not lines[after].strip():
                yield " ".join(line[2:].split(". ")[0].split()).rstrip(".")


@pytest.mark.slow
def test_a_module_holds_one_idea():
    """No head lists further ideas, and no part of a module has a heading of its own."""
    several = {"pramana_core.errors", "benchmarks.whole_record"}
    for name, path in FILES.items():
        text = path.read_text(encoding="utf-8")
        assert "Also here" not in text, name
        assert name in several or not list(headings(text)), name


def test_headings_are_seen():
    text = '"""A."""\n\n# Cats. They purr.\n\nX = 1\n# of X\nY = 2\n\n# of Z\nZ = 3\n'
    assert list(headings(text)) == ["Cats"]


@pytest.mark.slow
def test_pictures_and_table_of_the_rooms_are_as_the_code_is():
    """`make rooms` writes them again."""
    for name, drawn in pictures(FILES).items():
        assert (IMAGES / name).read_text(encoding="utf-8") == drawn, name
    text = PAGE.read_text(encoding="utf-8")
    assert page(text, FILES) == text


@pytest.mark.slow
def test_the_core_has_no_effects():
    for name, path in inside("pramana_core"):
        assert not roots(path) & EFFECTS, name


@pytest.mark.slow
def test_randomization_lives_at_the_owner():
    """The miner draws nothing but secrets; the core only samples, by a generator it is given."""
    for name, path in inside("miner_service"):
        assert not random_numbers(path), name
    for name, path in inside("pramana_core"):
        assert not random_numbers(path) or name in SAMPLERS, name
        text = parsed(path).text
        assert "default_rng" not in text, name
        assert "PCG64" not in text or name == "pramana_core.learn.common.distributions", name


def random_numbers(path: Path) -> set[str]:
    """Where a module could draw random numbers (other than secrets): imports and attributes."""
    taken = parsed(path).attributes & {"random", "default_rng", "Generator"}
    return taken | (roots(path) & {"random"})


@pytest.mark.slow
@pytest.mark.parametrize("package", PACKAGES)
def test_heavy_libraries_are_imported_late(package: str):
    for name, path in inside(package):
        assert not roots(path, top_level=True) & LAZY, name


def test_what_is_forbidden_is_seen(tmp_path: Path):
    """The negative control: in a function, for types alone, upwards and in a circle."""
    bad = tmp_path / "bad.py"
    bad.write_text(
        "from typing import TYPE_CHECKING\nimport numpy as np\n"
        "if TYPE_CHECKING:\n    from pramana_core.wire import releases\n"
        "def f():\n    from owner_agent.randomize.sampling import sample\n"
        "    return sample(np.random.default_rng())\n"
    )
    assert random_numbers(bad) == {"random", "default_rng"}
    assert imports(bad, FILES) == {"pramana_core.wire.releases", "owner_agent.randomize.sampling"}
    assert {"owner_agent"} == roots(bad) & set(PACKAGES) - ALLOWED["miner_service"]
    assert upward({"a": {"b"}, "b": set()}, {"a": 0, "b": 1}) == [("a", "b")]
    assert list(circles({"a": {"b"}, "b": {"c"}, "c": {"b"}})) == [["b", "c", "b"], ["c", "b", "c"]]
