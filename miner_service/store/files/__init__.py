"""What the miner keeps in files: parts as they arrive, columns of sealed releases, the audit log.

Which file belongs to which release is said by the rows one floor up.
"""
