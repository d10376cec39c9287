"""The life of a job, from its creation to its model. A supervisor runs each job in its own process.

The computations are in `miner_service.kinds`; the queue is in `miner_service.store`.
"""
