"""The version of the protocol between a miner and its clients, and the headers that both know."""

from __future__ import annotations

PROTOCOL = "1"
"""The version that is served; a request may name it, and one that names another is refused."""

PROTOCOL_HEADER = "Pramana-Protocol"
"""The header of requests and of answers; a request without it speaks the version that is served."""

IDEMPOTENCY_HEADER = "Idempotency-Key"
"""The header by which a repeated request is known where nothing else tells it."""

LONGEST_KEY = 255
