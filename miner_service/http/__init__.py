"""The HTTP service: the application and the listening process.

`access` decides what a caller may do, `endpoints` is the API, `pages` is the dashboard.
"""
