"""The coverage of the intervals that the product prints; `make campaign` measures it.

Each module of settings repeats one small study many times: records are drawn from a known
distribution, randomized, and estimated by the product's own code. The result is how often an
interval contains the truth. docs/coverage.md is written from the results, and CI runs a short form
of one setting of each kind.
"""
