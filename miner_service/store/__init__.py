"""What the miner keeps: rows in a database, records in files beside it.

Files are parts as they arrive, and columns of sealed releases; which belongs to which release is
said by the rows.

Nothing here decides who may see what; that is `miner_service.http.access`.
"""
