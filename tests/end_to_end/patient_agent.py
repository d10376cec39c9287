"""The `owner-agent` command where nobody is given up, however slow the machine is.

What is tried again is tried again soon: the pauses are a twentieth of the product's.
"""

from __future__ import annotations

import time

from owner_agent.cli.main import build
from owner_agent.state.environment import Environment, WaitingTimes
from pramana_core.terminal import run

HOUR = 3600.0
PATIENCE = WaitingTimes(
    work=HOUR,
    connect=HOUR,
    quick=HOUR,
    least=HOUR,
    grace=HOUR,
    asking=HOUR,
    last=HOUR,
    start=HOUR,
    brief=HOUR,
)


def main() -> None:
    """Run the command."""
    made = Environment(patience=PATIENCE, sleep=_soon, lock_attempts=10_000)
    run(build(made))


def _soon(seconds: float) -> None:
    time.sleep(seconds / 20)


if __name__ == "__main__":
    main()
