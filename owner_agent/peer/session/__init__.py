"""One session as one owner lives through it: how far it is, results on disk, the journal of all
sessions.

Who does which step when is decided in `owner_agent.peer.members`.
"""
