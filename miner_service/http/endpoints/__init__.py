"""The endpoints of the REST API: what each asks of the store, and what it answers.

Who may ask, limits and bodies are in `access`; pages for people are in `miner_service.http.pages`,
which call these same functions.
"""
