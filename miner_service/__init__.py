"""The miner's side: releases, alignment, jobs and models over HTTP.

It may use `pramana_core` and nothing of the owners; it never sees a true value of a sensitive
column.
"""

import pramana_core  # noqa: F401 - before numpy is loaded: it says how many threads linear algebra takes
