"""Anonymity of trees: what is required of each path, and pruning until it is met (section 3).

None of it bounds what a tree tells of one record: that is for the trees of
`pramana_core.model_sharing.private`. How a tree is grown is in
`pramana_core.model_sharing.growing`.
"""
