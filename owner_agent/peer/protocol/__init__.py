"""What owners say to each other in a session, what they must answer, and the file that proposes
one.

Who says it, and that nobody changed it since, is the concern of `owner_agent.peer.identity`.
"""
