"""What a release would reveal, of a plan, a masked table or a tree, before it leaves.

What is released, and what has left, is in `owner_agent.release`.
"""
