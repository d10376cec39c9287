"""Demonstrations, simulations and the papers' figures: both sides run together; nothing imports
it.

Mathematics lives in `shared`, and whatever an owner or the miner does in their own packages.
"""

import shared  # noqa: F401 - before numpy is loaded: it says how many threads linear algebra takes
