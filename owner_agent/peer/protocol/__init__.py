"""What owners ask of each other in a session, step by step, what they say in it, and the file that
proposes one.

Who says it, and that nobody changed it since, is the concern of `owner_agent.peer.identity`.
"""
