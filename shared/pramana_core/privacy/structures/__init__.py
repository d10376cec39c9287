"""What each structure of a channel must know so that every measure of privacy works at any size.

The measures themselves are one floor up, in `pramana_core.privacy`.
"""
