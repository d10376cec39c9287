"""What a shared tree is: its attributes, the conditions of its paths, its nodes and leaves.

Nothing here knows where a tree came from or what is done with it.
"""
