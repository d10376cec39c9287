"""The `miner-service` command, and its `study` commands.

Serving itself is `miner_service.http.server`.
"""
