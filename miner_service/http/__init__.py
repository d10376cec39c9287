"""The HTTP service: the application, and the process that listens for requests.

`access` decides which requests a caller may make, `endpoints` is the API, `pages` the dashboard.
"""
