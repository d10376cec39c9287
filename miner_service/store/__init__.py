"""What the miner keeps: rows in a database, records in files.

Who may see what is decided in `miner_service.http.access`.
"""
