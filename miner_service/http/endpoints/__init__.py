"""The endpoints of the REST API. Pages and commands also call their functions.

`access` handles permissions, limits and bodies.
"""
