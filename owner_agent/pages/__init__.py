"""The owner's pages in a browser: what a plan discloses, releases, publications, and choices.

The pages show the answers of the commands. They compute nothing and contain no true value.
"""
