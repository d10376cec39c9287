"""What both sides share: the mathematics of randomized data, and the contract between owners and
miner.

Nothing here opens a socket or a database, reads a clock or draws a random number that it was not
given the generator for.
"""

import os

# The matrices here are small: a linear algebra library whose threads share the cores with anything
# else spends up to fifty times as long on them. Before numpy is loaded, and only a default.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
