"""Jobs from their rows to their models: queued, run by workers under a supervisor, and asked.

A worker computes one job after the other; its supervisor watches it and ends it by a signal that no
computation can hold up. Supervisors may be on other machines with the same database. What each kind
of job learns is in `miner_service.kinds`, whose turn it is in `miner_service.store.queue`.
"""
