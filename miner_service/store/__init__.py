"""What the miner keeps: rows in a database, records in files beside it.

Nothing here decides who may see what; that is `miner_service.http.access`.
"""
