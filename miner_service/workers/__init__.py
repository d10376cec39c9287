"""Processes that run jobs: a supervisor, its workers, and the crew of a service that starts it.

A worker computes one job after the other; its supervisor watches it and ends it by a signal that no
computation can hold up. Supervisors may be on other machines with the same database.

What a run of a job does is in `miner_service.jobs.runner`, whose turn it is and who has which job
in `miner_service.store.queue`. Nothing is answered to clients here.
"""
