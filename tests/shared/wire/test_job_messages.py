"""Job messages: the same options as the learners', and none of the mathematics."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = ("numpy", "scipy", "pandas", "pyarrow", "numba")
ROOMS = (
    "channels",
    "estimation",
    "marginals",
    "kernels",
    "privacy",
    "discretize",
    "design",
    "mask",
)

LOADED = """
import sys
import pramana_core.wire.jobs
print(*sys.modules)
"""


@pytest.mark.slow
def test_job_messages_load_no_mathematics():
    found = subprocess.run(
        [sys.executable, "-c", LOADED], capture_output=True, text=True, check=True
    )
    loaded = set(found.stdout.split())
    assert "pramana_core.learn.common.options" in loaded
    assert not loaded & {*HEAVY, *(f"pramana_core.{room}" for room in ROOMS)}
