"""Simulated studies on a table or a network: accuracy against privacy, before anyone commits.

Options and tables become studies in `inputs`; what people type is in `commands`.
"""
