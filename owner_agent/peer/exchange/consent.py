"""What a custodian accepts before a session begins."""

from __future__ import annotations

from dataclasses import dataclass

from owner_agent.site.mistakes import CorrectionChoice


@dataclass(frozen=True)
class Consent:
    """What the custodian accepts beforehand: a further loss, and how corrected records are met."""

    added_loss: bool = False
    corrections: CorrectionChoice | None = None
