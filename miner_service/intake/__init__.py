"""Receiving, sealing and withdrawing releases, and the loss of a record by a study's releases.

`miner_service.store` stores the rows and files.
"""
