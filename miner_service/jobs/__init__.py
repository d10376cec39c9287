"""Jobs run one after another, ended as rows; and what may be asked of the models they made.

What each kind of job learns is in `miner_service.kinds`.
"""
