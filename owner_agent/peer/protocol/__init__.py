"""What owners ask of each other in a session, step by step, what they say in it, and who says it:
keys, pinned certificates, signed requests and statements.

What is done in answer to it is in `owner_agent.peer`.
"""
