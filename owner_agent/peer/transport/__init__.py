"""Owners on many machines: calls to other owners, the routes that take theirs, and TLS.

Nothing is decided here; a call becomes a step of `owner_agent.peer.members`.
"""
