"""Alignment of owners' records by pseudonym, and counts over the records of a job.

Releases come in through `miner_service.intake`.
"""
