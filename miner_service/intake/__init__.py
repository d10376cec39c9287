"""How a release comes in: announced, received, examined, sealed, withdrawn; and what a study has
told.

Rows and files are kept by `miner_service.store`.
"""
