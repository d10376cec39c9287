"""Everything that leaves the site for a miner: made, written down, sent, and remembered.

Randomized records, masked tables and trees are three kinds of one thing (`leaving`), which
`publish` sends; the ledger has each, and what a record reported before is reported again. The
draws themselves are made in `owner_agent.randomize`; what a release would reveal is told by
`owner_agent.report`.
"""
