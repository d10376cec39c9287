"""How long tokens are good for."""

from __future__ import annotations

from dataclasses import dataclass

from miner_service.settings.positive import require_positive


@dataclass(frozen=True)
class TokenSettings:
    """How long tokens are good for.

    `valid_days`: a token for which nothing else is said. `overlap_seconds`: for how long a token
    that was rotated stays good once the new one is used. `noted_seconds`: how often its use is
    noted at most, for each note is a change of the store. `warn_days`: before its end the dashboard
    warns.

    Raises:
        OptionError: a number that is not positive.
    """

    valid_days: int = 365
    overlap_seconds: float = 300.0
    noted_seconds: float = 60.0
    warn_days: int = 14

    def __post_init__(self) -> None:
        require_positive(self)
