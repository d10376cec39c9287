"""The service over HTTP: the application and the listening process.

`access` has callers, limits and bodies, `endpoints` the API, `pages` the dashboard.
"""
