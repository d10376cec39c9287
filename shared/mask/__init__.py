"""Masking of confidential numeric columns (AlAhmadi 2006): the methods.

The measures, the recommendation and the comparison of methods are in rooms beside them.
"""

from shared.mask.methods.gadp import egadp

__all__ = ["egadp"]
