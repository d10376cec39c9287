"""Kernel ridge regression, which is the least-squares support vector machine with a centred target.

Conditional expectations of any shape are learned with it (AlAhmadi III.2), and snoopers use it.
"""
