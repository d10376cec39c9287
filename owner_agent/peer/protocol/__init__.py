"""What owners can learn together, what they say to each other, step by step, and who they are:
keys, pinned certificates and signed statements.

The answers are in `owner_agent.peer`.
"""
