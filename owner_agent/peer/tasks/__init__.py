"""What owners can learn together: an owner's records, who is asked for what, and what is run on
them.

A new learner is one class in `catalogue`; how columns travel is in `owner_agent.peer.exchange`.
"""
