"""What the miner keeps: rows in a database, records in files."""
