"""How often tests repeat a random experiment: a few times, or often in `make campaign`."""

from __future__ import annotations

import os


def repetitions(short: int, at_length: int) -> int:
    """Return `at_length` where PRAMANA_CAMPAIGN is set, as `make campaign` sets it, else `short`.

    The short form holds the same false-alarm rate, and still finds the negative control surely.
    """
    return at_length if os.environ.get("PRAMANA_CAMPAIGN") else short
