"""Who runs which job: its states, its lease, whose turn it is, signs of life, log lines.

No messages are made of rows here (`miner_service.store.jobs` does that), and nothing is learned:
what a supervisor of workers imports stays small.
"""
