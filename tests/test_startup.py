"""What a command and `import pramana` load before they know what is asked: nothing heavy.

How long that takes `make bench` measures; here is what holds on any machine.
"""

import subprocess
import sys

import pytest

from benchmarks.bench.measuring import STORED, read

HEAVY = {
    "cryptography", "fastapi", "httpx", "jinja2", "matplotlib", "numpy", "pandas", "pyarrow",
    "scipy", "sqlalchemy", "uvicorn",
}  # fmt: skip
"""Without pydantic, which typer itself loads for a command's options where it is installed."""
LIGHT = {"pydantic", "ssl", "tomlkit"}
"""What the help of a program, without a command, does not load either."""
PROGRAMS = ("owner_agent.cli.main", "miner_service.cli.main", "pramana.cli")
LOOK = "import atexit, sys; atexit.register(lambda: print(*sys.modules, sep='\\n'));"


def loaded(script: str) -> set[str]:
    """Return the heavy packages that a program had loaded when it ended well."""
    ended = subprocess.run(
        [sys.executable, "-c", LOOK + script], capture_output=True, text=True, check=True
    )
    return (HEAVY | LIGHT) & set(ended.stdout.split())


HELP = """
import sys
from {module} import main
for words in {commands}:
    sys.argv = ["program", *words, "--help"]
    try:
        main()
    except SystemExit as ended:
        assert not ended.code, ended.code
"""
"""What several commands have loaded at the end: nothing heavy, then none of them loads it."""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("module", "commands"),
    [
        (
            "owner_agent.cli.main",
            [[], ["plan"], ["design"], ["publish"], ["keys"], ["peer", "run"]],
        ),
        ("miner_service.cli.main", [[], ["serve"], ["worker"], ["study"]]),
        ("pramana.cli", [[], ["simulate", "association-rules"], ["reproduce"], ["study", "run"]]),
    ],
)
def test_help_loads_nothing_heavy(module, commands):
    assert loaded(HELP.format(module=module, commands=commands)) <= LIGHT


@pytest.mark.parametrize(
    "module", ["owner_agent.cli.main", "miner_service.cli.main", "pramana.cli"]
)
def test_help_of_a_program_loads_no_library_but_typer(module):
    assert loaded(HELP.format(module=module, commands=[[]])) == set()


def test_the_package_itself_loads_nothing_heavy():
    assert loaded("import pramana") == set()


@pytest.mark.parametrize("program", ["owner_agent", "miner_service"])
def test_a_health_check_loads_no_command(program):
    """An engine asks every few seconds. Nothing answers here, which is exit code 4."""
    script = f"""
import sys
from {program}.__main__ import main
sys.argv = ["program", "healthcheck"]
try:
    main()
except SystemExit as ended:
    assert ended.code in (0, 4), ended.code
assert "typer" not in sys.modules and "rich" not in sys.modules
"""
    assert loaded(script) <= {"ssl"}


@pytest.mark.slow
def test_a_supervisor_of_jobs_loads_no_numerical_library(tmp_path):
    """The template of its workers loads them; a second copy would only cost memory."""
    script = f"""
import sys
from miner_service.cli.main import main
sys.argv = ["program", "worker", "--data", {str(tmp_path)!r}]
try:
    main()
except SystemExit as ended:
    assert ended.code, "there is no store here"
assert "miner_service.jobs.supervisor" in sys.modules
"""
    assert loaded(script) <= LIGHT | {"sqlalchemy"}


@pytest.mark.slow
def test_the_service_loads_no_library_of_distributions():
    """`scipy.stats` loads most of scipy: 40 MB for two functions of Student's distribution."""
    script = "import miner_service.http.app; assert 'scipy.stats' not in sys.modules"
    assert "scipy" in loaded("import sys;" + script)


def test_importing_the_package_costs_at_most_two_and_a_half_times_numpy():
    """In processor time, side by side, as it was stored last by `make bench`."""
    (measured,) = (m for m in read(STORED) if m.name == "python -c 'import pramana'")
    assert (measured.reference, measured.clock) == ("python -c 'import numpy'", "processor")
    assert measured.ratio <= 2.5


def test_what_is_loaded_is_seen():
    assert "numpy" in loaded("import pramana, pramana_core.channels")
    assert "tomlkit" in loaded("import owner_agent.site.writing")
