"""The owner's side: table, plan, keyed randomization, outbox, upload and ledger."""

import os

# The matrices here are small: a linear algebra library whose threads share the cores with anything
# else spends up to fifty times as long on them. Before numpy is loaded, and only a default.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
