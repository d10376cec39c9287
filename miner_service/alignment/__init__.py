"""Which records are at which owners, and the counts over the records that a job uses.

Releases come in through `miner_service.intake`.
"""
