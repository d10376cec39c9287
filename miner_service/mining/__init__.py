"""What a job needs of the releases in use and makes of them, by the kind of release it uses.

What differs by the kind of job is in `miner_service.kinds`; jobs are run by `miner_service.jobs`.
"""
