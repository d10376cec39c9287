"""Demonstrations, simulations and the papers' figures: both sides run together; nothing imports
it.

Mathematics lives in `shared`, and whatever an owner or the miner does in their own packages.
"""

import os

# The matrices here are small: a linear algebra library whose threads share the cores with anything
# else spends up to fifty times as long on them. Before numpy is loaded, and only a default.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
