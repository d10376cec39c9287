"""Imports run one way. This table is the architecture; a new direction is decided here."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.places import ROOT

ALLOWED = {
    "shared.errors": set(),
    "shared.domain": {"shared.errors"},
    "shared.channels": {"shared.errors"},
    "shared.plan": {"shared.domain", "shared.errors", "shared.channels"},
    "shared.marginals.support_counts": set(),
    "shared.marginals.counts": {
        "shared.domain",
        "shared.errors",
        "shared.marginals.support_counts",
    },
    "shared.marginals.tabulated_counts": {"shared.marginals.counts", "shared.errors"},
    "shared.estimation.supports.by_tables": {
        "shared.marginals.counts",
        "shared.domain",
        "shared.errors",
        "shared.marginals.support_counts",
    },
    "shared.estimation.subpopulations.by_tables": {
        "shared.marginals.counts",
        "shared.domain",
        "shared.errors",
    },
    "shared.estimation.supports.reported": {
        "shared.marginals.counts",
        "shared.marginals.support_counts",
    },
    "shared.estimation.supports.mixed": {
        "shared.marginals.counts",
        "shared.errors",
        "shared.plan",
        "shared.estimation.supports.reported",
        "shared.marginals.support_counts",
        "shared.channels",
    },
    "pramana.frequent_patterns": {
        "shared.marginals.counts",
        "shared.domain",
        "shared.errors",
        "shared.estimation.estimated",
        "shared.learn",
        "shared.plan",
        "shared.marginals.support_counts",
    },
    "shared.estimation.subpopulations.reported": {
        "shared.estimation.core.axes",
        "shared.marginals.counts",
        "shared.errors",
        "shared.plan",
        "shared.estimation.subpopulations.by_tables",
        "shared.channels",
    },
    "shared.estimation.core.inversion": {
        "shared.marginals.counts",
        "shared.errors",
        "shared.channels",
    },
    "shared.estimation.plausibility.plausibility": {
        "shared.estimation.core.axes",
        "shared.estimation.plausibility.bets",
        "shared.marginals.counts",
        "shared.estimation.core.inversion",
        "shared.plan",
        "shared.channels",
    },
    "shared.estimation.plausibility.bets": {
        "shared.marginals.counts",
        "shared.estimation.core.inversion",
        "shared.channels",
    },
    "shared.estimation.core.loglinear": {
        "shared.marginals.counts",
        "shared.errors",
        "shared.estimation.core.inversion",
    },
    "shared.estimation.combined": {
        "shared.marginals.tabulated_counts",
        "shared.estimation.core.axes",
        "shared.marginals.counts",
        "shared.domain",
        "shared.errors",
        "shared.estimation.estimated",
        "shared.estimation.evidence.explanation",
        "shared.estimation.evidence.independence",
        "shared.estimation.core.information",
        "shared.plan",
        "shared.estimation.core.strata",
        "shared.estimation.supports.mixed",
        "shared.estimation.subpopulations.reported",
        "shared.estimation.subpopulations.by_tables",
        "shared.marginals.support_counts",
        "shared.estimation.supports.by_tables",
    },
    "shared.estimation.core.information": {
        "shared.marginals.counts",
        "shared.errors",
        "shared.estimation.core.strata",
        "shared.channels",
    },
    "shared.estimation.core.strata": {
        "shared.marginals.counts",
        "shared.errors",
        "shared.estimation.core.inversion",
        "shared.channels",
    },
    "shared.estimation.evidence.independence": {
        "shared.marginals.counts",
        "shared.errors",
        "shared.estimation.core.strata",
    },
    "shared.estimation.evidence.explanation": {
        "shared.marginals.counts",
        "shared.estimation.evidence.independence",
        "shared.estimation.core.strata",
    },
    "shared.estimation.core.axes": {
        "shared.marginals.tabulated_counts",
        "shared.marginals.counts",
        "shared.domain",
        "shared.errors",
        "shared.estimation.core.inversion",
        "shared.plan",
        "shared.estimation.core.strata",
        "shared.channels",
    },
    "shared.estimation.estimated": {
        "shared.marginals.tabulated_counts",
        "shared.estimation.core.axes",
        "shared.marginals.counts",
        "shared.domain",
        "shared.errors",
        "shared.estimation.evidence.explanation",
        "shared.estimation.evidence.independence",
        "shared.estimation.core.information",
        "shared.estimation.core.inversion",
        "shared.estimation.core.loglinear",
        "shared.plan",
        "shared.estimation.core.strata",
        "shared.estimation.supports.mixed",
        "shared.estimation.subpopulations.reported",
        "shared.estimation.subpopulations.by_tables",
        "shared.marginals.support_counts",
        "shared.estimation.supports.by_tables",
        "shared.channels",
    },
    "shared.privacy": {
        "shared.marginals.counts",
        "shared.errors",
        "shared.plan",
        "shared.channels",
    },
    "shared.design": {
        "shared.marginals.counts",
        "shared.domain",
        "shared.errors",
        "shared.estimation.core.inversion",
        "shared.learn",
        "shared.estimation.core.loglinear",
        "shared.plan",
        "shared.privacy",
        "shared.channels",
    },
    "shared.privacy.information_loss": {
        "shared.marginals.counts",
        "shared.errors",
        "shared.channels",
    },
    "shared.wire": {
        "shared.marginals.counts",
        "shared.domain",
        "shared.errors",
        "shared.plan",
        "shared.privacy",
        "shared.channels",
    },
    "shared.wire.parts": {"shared.marginals.counts", "shared.errors", "shared.plan", "shared.wire"},
    "shared.terminal": {"shared.errors"},
}
"""What each module of `shared` may import of the project."""

DISCRETIZE = {"shared.discretize", "shared.domain", "shared.errors"}

LEARNERS = {
    "shared.marginals.counts",
    "shared.domain",
    "shared.errors",
    "shared.learn",
    "shared.marginals.support_counts",
}
"""Learners see marginals: never rows of reports, matrices, plans or estimators."""

PACKAGES = {
    "shared": {"shared"},
    "owner_agent": {"owner_agent", "shared"},
    "miner_service": {"miner_service", "shared"},
    "pramana": {"pramana", "owner_agent", "miner_service", "shared"},
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


@pytest.mark.parametrize("package", ["shared.design", "shared.privacy", "shared.channels"])
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
    "shared.estimation.combined",
    "shared.marginals.counts",
    "shared.estimation.estimated",
    "shared.estimation.evidence.independence",
    "shared.learn.linear.pocket",
    "shared.learn.networks.network",
    "shared.learn.common.resampling",
    "shared.learn.networks.search.scores",
    "shared.learn.networks.search.structure_learning",
}
"""What samples networks or resamples reports, all by a generator it is given (made of a seed in
`shared.learn.common.resampling` alone)."""


def test_randomization_lives_at_the_owner():
    """The miner draws nothing but secrets; `shared` only samples, with a generator it is given."""
    for path in modules("miner_service"):
        assert not random_numbers(path), path
    for path in modules("shared"):
        assert not random_numbers(path) or name_of(path) in SAMPLERS, path
        text = path.read_text(encoding="utf-8")
        assert "default_rng" not in text, path
        assert "PCG64" not in text or name_of(path) == "shared.learn.common.resampling", path


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
        "import numpy as np\ndef f():\n    from owner_agent.randomize.sampling import sample\n"
        "    return sample(np.random.default_rng())\n"
    )
    assert random_numbers(bad) == {"random", "default_rng"}
    assert within(imports(bad), PACKAGES["miner_service"]) == {
        "owner_agent.randomize.sampling",
        "owner_agent.randomize.sampling.sample",
    }
