"""What leaves for one peer and what arrives from it: randomized, written down first, checked,
costed.

What exact counts disclose is in `owner_agent.peer`.
"""
