"""The miner's dashboard in a browser: pages that show what the API answers, by its functions.

Nothing is computed, and nobody's access decided, here.
"""
