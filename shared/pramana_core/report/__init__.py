"""One shape of report, and its three renderers: a terminal, an HTML page, and JSON.

What a report says belongs to whoever makes it.
"""
