"""The commands are listed at once: what computes is loaded by the command that needs it."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = ("numpy", "pandas", "scipy", "sklearn", "matplotlib", "pyarrow")


@pytest.mark.slow
@pytest.mark.parametrize("program", ["pramana.cli", "owner_agent.cli.main"])
def test_the_commands_are_listed_without_loading_what_computes(program: str):
    """Numpy alone takes longer to load than all that `--help` needs."""
    asked = f"import sys, {program}; print(*{set(HEAVY)} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
