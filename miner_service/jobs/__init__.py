"""Jobs from their rows to their models: queued, run in processes under a supervisor, and asked.

Each run has a process of its own, which its supervisor ends by a signal that no computation can
hold up. Supervisors may be on other machines with the same database. What each kind of job learns
is in `miner_service.kinds`, whose turn it is in `miner_service.store.queue`.
"""
