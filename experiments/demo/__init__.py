"""The main job shown end to end: real owners, a real miner, a network with error bars."""
