"""The messages between owners, miner and analysts, and the parts in which records travel.

Messages are validated here and made into values of `pramana_core` and back; sending and storing
them is up to the services.
"""
