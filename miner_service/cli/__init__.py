"""The `miner-service` command, and its `study` commands.

Serving itself is in `miner_service.http.server`.
"""
