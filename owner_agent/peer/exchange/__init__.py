"""What leaves for one peer and what arrives from it: randomized, written down first, checked,
costed.

What is told of exact counts is in `owner_agent.peer`.
"""
