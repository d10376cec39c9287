"""Regressions as JSON and back, as text, as pictures and as rows of numbers.

What is learned, and how, is in `pramana_core.regression`.
"""
