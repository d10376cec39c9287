"""The miner's side: releases, alignment, jobs and models over HTTP.

It may use `shared` and nothing of the owners; it never sees a true value of a sensitive column.
"""

import os

# The matrices here are small: a linear algebra library whose threads share the cores with anything
# else spends up to fifty times as long on them. Before numpy is loaded, and only a default.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
