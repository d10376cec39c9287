"""Local trees: what an owner learns from its own records before anything of it is released.

They are grown by scikit-learn, on numbers and on an indicator for each category, and kept as nodes.
"""
