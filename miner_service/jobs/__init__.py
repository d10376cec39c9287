"""Jobs from their rows to their models, each run in a process under a supervisor.

What kinds of jobs learn is in `miner_service.kinds`, whose turn it is in `store.queue`.
"""
