"""The owner's side: the only package in which true values and randomness meet.

It imports `pramana_core` and nothing of the miner. The data that it sends is randomized, noisy, or
permitted by name.
"""

import pramana_core  # noqa: F401 - before numpy is loaded: it says how many threads linear algebra takes
