"""The messages between owners, miner and analysts, and the parts that carry records.

Messages are validated here and converted to values of `pramana_core` and back. The services send
and store them.
"""
