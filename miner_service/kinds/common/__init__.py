"""What the kinds of jobs have in common: their forms, what they may cost, pages and documents.

The kinds themselves are in `miner_service.kinds`, the templates of their pages beside them.
"""
