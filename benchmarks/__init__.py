"""Measurements: comparisons with other libraries, the papers' experiments, coverage, and load.

The benchmarks are not in the wheel, and the product imports none of them. The papers' experiments
are in `reproduce`, which `pramana reproduce` runs in a checkout.
"""
