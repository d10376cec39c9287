"""The miner: takes randomized releases in, aligns them, and learns models from them, over HTTP.

It uses `pramana_core` and nothing of the owners. It sees only what leaves an owner.
"""

import pramana_core  # noqa: F401 - before numpy is loaded: it says how many threads linear algebra takes
