"""Who an owner is among its peers: keys, pinned certificates, signed requests and statements.

What is signed is defined in `owner_agent.peer.protocol`.
"""
