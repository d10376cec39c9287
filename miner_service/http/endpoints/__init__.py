"""The endpoints of the REST API; pages and commands also call their functions.

Permissions, limits and bodies are handled in `access`.
"""
