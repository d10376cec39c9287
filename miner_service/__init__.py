"""The miner: takes randomized releases in, aligns them, and learns models from them, over HTTP."""

import pramana_core  # noqa: F401 - before numpy is loaded: it says how many threads linear algebra takes
