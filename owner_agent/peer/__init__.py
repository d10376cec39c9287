"""Learning without a miner: owners exchange randomized columns and end with the same network.

Messages, tasks and the exchange of columns lie below; `exact` says what is told
of true records, and `app` and `remote` are the network between owners.
"""
