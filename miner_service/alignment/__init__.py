"""Which records are found at which owners, and the marginals over the records they share;
on a cluster, too.

Releases come in through `miner_service.intake`; jobs ask here what they may count.
"""
