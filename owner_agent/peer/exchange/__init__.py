"""What owners can learn together, and what travels for it: an owner's records, who needs
what, what leaves for one peer (randomized, written down first, costed) and what arrives (checked).

A new learner is one class in `catalogue`. What exact counts disclose is in `owner_agent.peer`.
"""
