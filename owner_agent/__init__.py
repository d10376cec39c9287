"""The owner's side: the only place where true values and randomness meet.

It may use `pramana_core` and nothing of the miner; what leaves it is randomized, noisy, or
permitted by name.
"""

import pramana_core  # noqa: F401 - before numpy is loaded: it says how many threads linear algebra takes
