"""A supervisor whose workers are those of `learning`."""

from __future__ import annotations

import sys

from miner_service.jobs import supervisor as supervise

WORKER = (sys.executable, "-m", "tests.miner_service.workers.learning")

if __name__ == "__main__":
    supervise.main(WORKER)
