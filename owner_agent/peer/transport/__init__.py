"""Owners on one or on many machines: routes, calls, TLS, and the process's own owner as a partner.

Nothing is decided here; a call becomes a step of `owner_agent.peer.members`.
"""
