"""How a release comes in and goes, and what a study has disclosed of a record.

Rows and files are kept by `miner_service.store`.
"""
