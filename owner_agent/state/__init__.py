"""An owner's private state: private files, keys, tokens, and the lock for publications.

Releases are recorded in `owner_agent.release`.
"""
