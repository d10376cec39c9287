"""The `miner-service` command and its subcommands.

`miner_service.http.server` contains the server.
"""
