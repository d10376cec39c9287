"""The endpoints of the REST API, whose functions the pages and commands call, too.

Who may call them, limits and bodies are in `access`.
"""
