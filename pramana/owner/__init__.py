"""The owner's side of the face: keys, randomizing a frame by keyed draws, and what it costs.

The draws are those of `owner_agent.randomize`; the miner can reach neither.
"""
