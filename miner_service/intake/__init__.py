"""Receiving, sealing and withdrawing releases, and what a study has disclosed about a record.

`miner_service.store` stores rows and files.
"""
