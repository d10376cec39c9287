"""Connections before they are requests: how many, how fast their headers come, and TLS.

What a request may do once its headers are there is decided in `gate`.
"""
