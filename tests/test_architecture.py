"""Imports run one way. This table is the architecture; a new direction is decided here."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

ALLOWED = {
    "shared.errors": set(),
    "shared.domain": {"shared.errors"},
    "shared.transition": {"shared.errors"},
    "shared.plan": {"shared.domain", "shared.errors", "shared.transition"},
    "shared.support_counts": set(),
    "shared.counts": {"shared.domain", "shared.errors", "shared.support_counts"},
    "shared.tabulated_counts": {"shared.counts", "shared.errors"},
    "shared.supports": {
        "shared.counts",
        "shared.domain",
        "shared.errors",
        "shared.support_counts",
    },
    "shared.subpopulation": {"shared.counts", "shared.domain", "shared.errors"},
    "shared.reported_supports": {"shared.counts", "shared.support_counts"},
    "shared.mixed_supports": {
        "shared.counts",
        "shared.errors",
        "shared.plan",
        "shared.reported_supports",
        "shared.support_counts",
        "shared.transition",
    },
    "shared.frequent_patterns": {
        "shared.counts",
        "shared.domain",
        "shared.errors",
        "shared.estimate",
        "shared.learn",
        "shared.plan",
        "shared.support_counts",
    },
    "shared.reported_subpopulation": {
        "shared.axes",
        "shared.counts",
        "shared.errors",
        "shared.plan",
        "shared.subpopulation",
        "shared.transition",
    },
    "shared.inversion": {"shared.counts", "shared.errors", "shared.transition"},
    "shared.plausibility": {
        "shared.axes",
        "shared.bets",
        "shared.counts",
        "shared.inversion",
        "shared.plan",
        "shared.transition",
    },
    "shared.bets": {"shared.counts", "shared.inversion", "shared.transition"},
    "shared.loglinear": {"shared.counts", "shared.errors", "shared.inversion"},
    "shared.combine": {
        "shared.tabulated_counts",
        "shared.axes",
        "shared.counts",
        "shared.domain",
        "shared.errors",
        "shared.estimate",
        "shared.explanation",
        "shared.independence",
        "shared.information",
        "shared.plan",
        "shared.strata",
        "shared.mixed_supports",
        "shared.reported_subpopulation",
        "shared.subpopulation",
        "shared.support_counts",
        "shared.supports",
    },
    "shared.information": {
        "shared.counts",
        "shared.errors",
        "shared.strata",
        "shared.transition",
    },
    "shared.strata": {"shared.counts", "shared.errors", "shared.inversion", "shared.transition"},
    "shared.independence": {"shared.counts", "shared.errors", "shared.strata"},
    "shared.explanation": {"shared.counts", "shared.independence", "shared.strata"},
    "shared.axes": {
        "shared.tabulated_counts",
        "shared.counts",
        "shared.domain",
        "shared.errors",
        "shared.inversion",
        "shared.plan",
        "shared.strata",
        "shared.transition",
    },
    "shared.estimate": {
        "shared.tabulated_counts",
        "shared.axes",
        "shared.counts",
        "shared.domain",
        "shared.errors",
        "shared.explanation",
        "shared.independence",
        "shared.information",
        "shared.inversion",
        "shared.loglinear",
        "shared.plan",
        "shared.strata",
        "shared.mixed_supports",
        "shared.reported_subpopulation",
        "shared.subpopulation",
        "shared.support_counts",
        "shared.supports",
        "shared.transition",
    },
    "shared.privacy": {"shared.counts", "shared.errors", "shared.plan", "shared.transition"},
    "shared.design": {
        "shared.counts",
        "shared.domain",
        "shared.errors",
        "shared.inversion",
        "shared.learn",
        "shared.loglinear",
        "shared.plan",
        "shared.privacy",
        "shared.transition",
    },
    "shared.information_loss": {"shared.counts", "shared.errors", "shared.transition"},
    "shared.wire": {
        "shared.counts",
        "shared.domain",
        "shared.errors",
        "shared.plan",
        "shared.privacy",
        "shared.transition",
    },
    "shared.parts": {"shared.counts", "shared.errors", "shared.plan", "shared.wire"},
    "shared.terminal": {"shared.errors"},
}
"""What each module of `shared` may import of the project."""

DISCRETIZE = {"shared.discretize", "shared.domain", "shared.errors"}

LEARNERS = {
    "shared.counts",
    "shared.domain",
    "shared.errors",
    "shared.learn",
    "shared.support_counts",
}
"""Learners see marginals: never rows of reports, matrices, plans or estimators."""

PACKAGES = {
    "shared": {"shared"},
    "owner_agent": {"owner_agent", "shared"},
    "miner_service": {"miner_service", "shared"},
    "experiments": {"experiments", "owner_agent", "miner_service", "shared"},
}

EFFECTS = {"httpx", "fastapi", "uvicorn", "sqlalchemy", "socket", "requests"}
"""No sockets and no SQL in `shared`."""

LAZY = {"matplotlib", "numba", "sklearn", "dask", "pyagrum", "opendp"}
"""Heavy libraries are imported inside the function that needs them."""


def modules(package: str) -> list[Path]:
    return sorted((ROOT / package).rglob("*.py"))


def name_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports(path: Path, *, top_level: bool = False) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    nodes = tree.body if top_level else ast.walk(tree)
    found: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} has a relative import"
            found.add(node.module or "")
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def within(names: set[str], allowed: set[str]) -> set[str]:
    """The project modules among `names` that are not in `allowed` nor inside one of them."""
    ours = {n for n in names if n.split(".")[0] in PACKAGES}
    return {n for n in ours if not any(n == a or n.startswith(a + ".") for a in allowed)}


@pytest.mark.parametrize("package", PACKAGES)
def test_packages_import_one_way(package: str):
    paths = modules(package)
    assert paths
    for path in paths:
        assert not within(imports(path), PACKAGES[package]), path


def test_shared_modules_import_only_what_the_table_says():
    for path in (ROOT / "shared").glob("*.py"):
        if path.name != "__init__.py":
            assert not within(imports(path), ALLOWED[name_of(path)]), path
    for folder, allowed in (("learn", LEARNERS), ("discretize", DISCRETIZE)):
        for path in (ROOT / "shared" / folder).rglob("*.py"):
            assert not within(imports(path), allowed), path


@pytest.mark.parametrize("package", ["shared.design", "shared.privacy", "shared.transition"])
def test_a_package_imports_what_its_one_line_of_the_table_says(package: str):
    paths = sorted((ROOT / package.replace(".", "/")).rglob("*.py"))
    assert paths
    for path in paths:
        assert not within(imports(path), ALLOWED[package] | {package}), path


def test_shared_has_no_effects():
    for path in modules("shared"):
        roots = {name.split(".")[0] for name in imports(path)}
        assert not roots & EFFECTS, path


SAMPLERS = {
    "shared.combine",
    "shared.counts",
    "shared.estimate",
    "shared.independence",
    "shared.learn.linear.pocket",
    "shared.learn.network",
    "shared.learn.resampling",
    "shared.learn.scores",
    "shared.learn.structure_learning",
}
"""What samples networks or resamples reports, all by a generator it is given (made of a seed in
`shared.learn.resampling` alone)."""


def test_randomization_lives_at_the_owner():
    """The miner draws nothing but secrets; `shared` only samples, with a generator it is given."""
    for path in modules("miner_service"):
        assert not random_numbers(path), path
    for path in modules("shared"):
        assert not random_numbers(path) or name_of(path) in SAMPLERS, path
        text = path.read_text(encoding="utf-8")
        assert "default_rng" not in text, path
        assert "PCG64" not in text or name_of(path) == "shared.learn.resampling", path


def random_numbers(path: Path) -> set[str]:
    """Where a module could draw random numbers (other than secrets): imports and attributes."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    attributes = {n.attr for n in ast.walk(tree) if isinstance(n, ast.Attribute)}
    roots = {name.split(".")[0] for name in imports(path)}
    return (attributes & {"random", "default_rng", "Generator"}) | (roots & {"random"})


@pytest.mark.parametrize("package", PACKAGES)
def test_heavy_libraries_are_imported_late(package: str):
    for path in modules(package):
        roots = {name.split(".")[0] for name in imports(path, top_level=True)}
        assert not roots & LAZY, path


def test_the_table_can_fail(tmp_path: Path):
    """The negative control: a forbidden import is seen, also inside a function."""
    bad = tmp_path / "bad.py"
    bad.write_text(
        "import numpy as np\ndef f():\n    from owner_agent.sampling import sample\n"
        "    return sample(np.random.default_rng())\n"
    )
    assert random_numbers(bad) == {"random", "default_rng"}
    assert within(imports(bad), PACKAGES["miner_service"]) == {
        "owner_agent.sampling",
        "owner_agent.sampling.sample",
    }
