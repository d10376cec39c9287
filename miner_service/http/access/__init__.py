"""The checks of a request before its endpoint: rate, token, permissions, body.

Limits on connections are in `miner_service.http.connection`.
"""
