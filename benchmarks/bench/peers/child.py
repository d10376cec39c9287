"""A peer's process: answers requests to prepare and to run, a JSON object a line.

What a library prints goes to standard error, so that it is not taken for an answer.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
from collections.abc import Callable


def main() -> None:
    """Answer until nobody asks any more."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    run: Callable[[], object] | None = None
    for line in sys.stdin:
        asked = json.loads(line)
        told: dict[str, object] = {}
        try:
            if "prepare" in asked:
                module, _, name = asked["prepare"].rpartition(".")
                prepare = getattr(importlib.import_module(f"benchmarks.bench.peers.{module}"), name)
                run = prepare(**asked["arguments"])
            elif run is not None:
                began, used = time.perf_counter(), time.process_time()
                run()
                told["elapsed"] = time.perf_counter() - began
                told["processor"] = time.process_time() - used
        except Exception as error:  # noqa: BLE001 whatever it is, the asker is told
            told["failed"] = f"{type(error).__name__}: {error}"
        answers.write(json.dumps(told) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
