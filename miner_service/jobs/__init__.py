"""Jobs from their rows to their models, each run in a process under a supervisor.

What a job learns is in `miner_service.kinds`; the queue is in `miner_service.store`.
"""
