"""Kernel ridge regression, which equals the least-squares support vector machine with a bias.

Masking uses it to learn conditional expectations of any shape (AlAhmadi III.2).
"""
