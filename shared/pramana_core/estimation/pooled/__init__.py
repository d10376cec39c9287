"""Tables at any width from overlapping sets: pairs pooled, made consistent and shrunk.

Estimates whose cost is that of the tables asked, never of all variables together.
"""
