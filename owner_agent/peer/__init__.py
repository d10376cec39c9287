"""Learning without a miner: owners exchange randomized columns and end with the same network.

Messages, tasks and the exchange of columns lie below; `exact` limits what is shared of true
records. `participant` is an owner, and `joint` leads a session.
"""
