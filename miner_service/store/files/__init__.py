"""What the miner keeps in files: parts as they arrive, and columns of sealed releases.

Which file belongs to which release is said by the rows one floor up.
"""
