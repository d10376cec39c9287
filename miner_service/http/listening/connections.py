"""How many connections are open, in all and from one address."""

from __future__ import annotations

from dataclasses import dataclass, field

from miner_service.http.gate.shares import network_of
from miner_service.settings import WebSettings


@dataclass
class Connections:
    """The connections of one service."""

    web: WebSettings
    _open: dict[str, int] = field(default_factory=dict)
    _total: int = 0

    def enter(self, host: str) -> bool:
        """Count a connection; say whether there was room for it. One without is not counted."""
        host = network_of(host)
        held = self._open.get(host, 0)
        if self._total >= self.web.connections or held >= self.web.connections_per_address:
            return False
        self._open[host] = held + 1
        self._total += 1
        return True

    def leave(self, host: str) -> None:
        """Count one that entered no more."""
        host = network_of(host)
        self._total -= 1
        self._open[host] -= 1
        if not self._open[host]:
            del self._open[host]
