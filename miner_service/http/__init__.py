"""The service over HTTP: the application and the listening process.

Routes are in `routes`, and what they ask for (callers, limits, bodies) in `access`.
"""
