"""Simulated studies on a table or a network: accuracy against privacy, before anyone commits.

What people type is in `commands`.
"""
