"""Kernel ridge regression, which equals the least-squares support vector machine with a bias.

Masking learns conditional expectations of any shape with it (AlAhmadi III.2).
"""
