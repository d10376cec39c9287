"""What measures the product: ratios against peers, the papers' experiments, intervals, load.

What is measured lives elsewhere: nothing here is in the wheel, and the product imports none of it.
The papers' experiments are in `reproduce`, which `pramana reproduce` runs in a checkout.
"""
