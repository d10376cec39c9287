"""The life of a job, from its creation to its model. Each job runs in its own process under a
supervisor.

The computations are in `miner_service.kinds`; the queue is in `miner_service.store`.
"""
