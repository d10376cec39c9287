"""The service over HTTP: the application and the listening process.

What routes ask for is elsewhere: callers in `access`, limits and bodies in `gate`.
"""
