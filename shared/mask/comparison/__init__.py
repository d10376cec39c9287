"""How masking methods are set beside one another at equal disclosure risk.

Measures are in `shared.mask.measures`, the choice of a method in `shared.mask.advice`.
"""
