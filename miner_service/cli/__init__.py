"""The `miner-service` command, and its `study` commands."""
