"""The owner's pages in a browser: what a plan reveals, what left, publications, choices.

They show what the commands show and call the same functions: nothing is computed here, and no true
value is on them. Served on loopback alone.
"""
