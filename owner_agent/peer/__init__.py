"""Learning without a miner: owners exchange randomized columns and obtain the same network.

Subfolders contain the protocol's messages and tasks, and the exchange of columns. `exact` limits
the disclosure of exact counts. `participant` is an owner in a session, and `joint` leads a session.
"""
