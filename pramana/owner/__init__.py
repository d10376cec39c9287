"""The owner's side of the package: keys, randomization by keyed draws, and the privacy account.

The draws come from `owner_agent.randomize`. The miner has no access to keys or draws.
"""
