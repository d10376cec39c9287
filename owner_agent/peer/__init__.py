"""Learning without a miner: owners exchange randomized columns and end with the same network.

Each owner learns the families of its own variables from its own columns, exact, and its peers'
randomized ones (Ma 5.2; MaSiv III). No owner's machine is trusted with more than it is entitled to.
"""
