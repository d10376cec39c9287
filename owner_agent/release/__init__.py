"""Preparing, recording and sending the site's releases to a miner.

`publish` lists the steps in order. The ledger, the outbox and the memory of reports record the
releases, and `composition` adds up their privacy loss. Randomization, tables and pages are in other
packages.
"""
