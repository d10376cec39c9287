"""The owner's side: the only place where true values and randomness meet.

It may use `shared` and nothing of the miner; what leaves it is randomized, noisy, or permitted by
name.
"""

import os

# The matrices here are small: a linear algebra library whose threads share the cores with anything
# else spends up to fifty times as long on them. Before numpy is loaded, and only a default.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
