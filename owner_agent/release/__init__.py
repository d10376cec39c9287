"""Publishing to a miner: joining a study, sending a release, withdrawing it.

Randomization and the ledger live below; what a release would reveal is told by
`owner_agent.report`.
"""
