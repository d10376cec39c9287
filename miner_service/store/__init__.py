"""Storage of the miner: rows in a database, records in files.

`miner_service.http.access` decides which rows a caller may see.
"""
