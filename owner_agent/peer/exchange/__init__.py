"""What travels in a session: an owner's records, what leaves for one peer (randomized, written down
first, with its cost) and what arrives (checked).

What exact counts disclose is in `owner_agent.peer`.
"""
