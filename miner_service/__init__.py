"""The miner: takes randomized releases in, aligns them, and learns models from them, over HTTP.

It uses `pramana_core` and nothing of the owners. It never sees a true value of a sensitive column.
"""

import pramana_core  # noqa: F401 - before numpy is loaded: it says how many threads linear algebra takes
