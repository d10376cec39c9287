"""Receiving, sealing and withdrawing releases, and what a study's releases disclose about a record.

`miner_service.store` stores the rows and files.
"""
