"""The code that owners and miner share: the mathematics of randomized data, and their contract.

Nothing here opens a socket or a database or reads a clock. Random numbers come only from generators
that the caller passes.
"""

import os

# The matrices here are small. A linear algebra library that runs threads on cores which are
# already busy takes up to fifty times as long. Set before numpy is loaded, and only as a default.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
