"""What a request passes before its endpoint: rates, its token, who may see what, its body.

Connections, before they are requests, are in `miner_service.http.server`.
"""
