"""What experiments, simulations and the demonstration start from: a seeded owner, and Ma's
network.

Seeds make secrets here, and nowhere else outside the tests.
"""
