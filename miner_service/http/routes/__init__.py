"""The routes of the REST contract (docs/api.md), and the dashboard.

Each turns a request into one call of the rooms below.
"""
