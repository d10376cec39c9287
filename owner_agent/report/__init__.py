"""What a release would reveal, of a plan, a masked table or a tree, before it leaves.

Losses, numbers, words and pictures, and where they are written (`files`). What is released, and
what has left, is in `owner_agent.release`.
"""
