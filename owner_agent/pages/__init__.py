"""The owner's pages in a browser: disclosure by a plan, releases, publications, choices.

The pages show the answers of the commands. They compute nothing and contain no true value.
"""
