"""What a study's plan says, printed."""

from __future__ import annotations

from rich.console import Console

from owner_agent.study_plan.adopting import Adopted
from owner_agent.study_plan.telling import told_lines


def show_adopted(console: Console, adopted: Adopted | None) -> None:
    """Print what the plan that a site follows says of all owners and of this one."""
    for line in () if adopted is None else told_lines(adopted):
        console.print(line, markup=False)
