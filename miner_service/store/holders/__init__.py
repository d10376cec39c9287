"""Who holds which token, who is invited, and what a sender was answered: rows from issue to end.

Studies and owners are rows of `miner_service.store.people`; what a role may do is no matter of the
store.
"""
