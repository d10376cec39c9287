"""The messages between owners, miner and analysts, and the parts that carry records.

Messages are checked here, and converted to and from the values of `pramana_core`. The services send
and store them.
"""
