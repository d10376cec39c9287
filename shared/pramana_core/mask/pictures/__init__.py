"""Pictures of masked columns beside the true ones: which relationships are shown, and how.

They show true values, so they stay with who holds these. Measures are in
`pramana_core.mask.measures`.
"""
