"""How jobs are run: how many at once, and when one whose worker is silent is run again."""

from __future__ import annotations

from dataclasses import dataclass

from miner_service.settings.positive import require_positive


@dataclass(frozen=True)
class JobSettings:
    """How jobs are run; all times in seconds.

    `workers`: processes that each run one job at a time; 0 leaves jobs to other machines.
    `lease_seconds`: how long a job stays with a supervisor that gives no sign of life.
    `beat_seconds`: how often a supervisor looks whether its jobs are still wanted, and what they
    take: within this time and a little more a cancelled job is ended. `short_seconds`: jobs
    predicted to take less are short; where there are several workers long ones never take the last
    that is free.

    Raises:
        OptionError: a number that is not positive; `workers` may be 0.
    """

    workers: int = 2
    lease_seconds: float = 15.0
    beat_seconds: float = 0.25
    short_seconds: float = 10.0

    def __post_init__(self) -> None:
        require_positive(self, zero=("workers",))
