"""The `owner-agent` command where nobody is given up, however slow the machine is."""

from __future__ import annotations

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
    idle=HOUR,
    asking=HOUR,
    last=HOUR,
    start=HOUR,
    brief=HOUR,
)


def main() -> None:
    """Run the command."""
    run(build(Environment(patience=PATIENCE)))


if __name__ == "__main__":
    main()
