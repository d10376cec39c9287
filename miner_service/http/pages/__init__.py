"""The miner's dashboard in a browser: pages that show what the API answers, by its functions."""
