"""The common form of reports and its three renderers: a terminal, an HTML page, and JSON.

The content of a report belongs to the module that builds it.
"""
