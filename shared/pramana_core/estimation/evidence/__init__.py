"""What the likelihood of the reports says of independence, and how much of them a structure
explains.

Scores and searches that use this evidence live in `pramana_core.learn.networks.search`.
"""
