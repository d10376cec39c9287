"""The service over HTTP: the application and the listening process.

What a caller may do is in `access`, the API in `endpoints`, the dashboard in `pages`.
"""
