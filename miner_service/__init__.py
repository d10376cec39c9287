"""The miner: an HTTP service that receives randomized releases, aligns them and learns models.

It imports `pramana_core` but no code of the owners, and sees only what an owner sends.
"""

import pramana_core  # noqa: F401 - before numpy is loaded: it says how many threads linear algebra takes
