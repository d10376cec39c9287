"""The `owner-agent` command with pauses of a twentieth between its attempts."""

from __future__ import annotations

import time

from owner_agent.cli.main import build
from owner_agent.state.environment import Environment
from pramana_core.terminal import run


def main() -> None:
    """Run the command."""
    run(build(Environment(sleep=lambda seconds: time.sleep(seconds / 20))))
