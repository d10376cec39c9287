"""What a command loads before it knows what it is asked: nothing heavy.

How long that takes is in benchmarks/results.json; here is what holds on any machine.
"""

import subprocess
import sys

import pytest

HEAVY = {
    "cryptography", "fastapi", "httpx", "jinja2", "matplotlib", "numpy", "pandas", "pyarrow",
    "scipy", "sqlalchemy", "uvicorn",
}  # fmt: skip
"""Without pydantic, which typer itself loads for a command's options where it is installed."""
LOOK = "import atexit, sys; atexit.register(lambda: print(*sys.modules, sep='\\n'));"


def loaded(script: str, *words: str) -> set[str]:
    """Return the heavy packages that a program had loaded when it ended well."""
    ended = subprocess.run(
        [sys.executable, "-c", LOOK + script, *words], capture_output=True, text=True, check=True
    )
    return HEAVY & set(ended.stdout.split())


@pytest.mark.parametrize(
    ("module", "words"),
    [
        ("owner_agent.cli.main", ("--help",)),
        ("owner_agent.cli.main", ("plan", "--help")),
        ("owner_agent.cli.main", ("design", "--help")),
        ("owner_agent.cli.main", ("keys", "--help")),
        ("miner_service.cli.main", ("--help",)),
        ("miner_service.cli.main", ("serve", "--help")),
        ("miner_service.cli.main", ("study", "--help")),
        ("pramana.cli", ("--help",)),
        ("pramana.cli", ("simulate", "rules", "--help")),
        ("pramana.cli", ("network", "--help")),
    ],
)
def test_help_loads_nothing_heavy(module, words):
    assert loaded(f"from {module} import main; main()", *words) == set()


def test_the_package_itself_loads_nothing_heavy():
    assert loaded("import pramana") == set()


def test_what_is_loaded_is_seen():
    assert loaded("import pramana, shared.channels") == {"numpy"}
