"""The owner's pages in a browser: what a plan reveals, what left, publications, choices.

They show the commands' answers: nothing is computed here, and no true value is on them.
"""
