"""The owner's side: the only package that handles both true values and randomness.

It imports `pramana_core` and nothing from the miner. It sends only data that is randomized, has
noise added, or is explicitly permitted column by column.
"""

import pramana_core  # noqa: F401 - before numpy is loaded: it says how many threads linear algebra takes
