"""The common parts of the owners' and the miner's pages: layout, style, policy, forms, cookies.

Each side defines its own pages and access rights.
"""
