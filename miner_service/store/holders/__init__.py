"""Who holds which token, and who is invited: rows of tokens and invitations, from issue to end.

Studies and owners are rows of `miner_service.store.people`; what a role may do is no matter of the
store.
"""
