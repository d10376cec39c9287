"""Masking of confidential numeric columns (AlAhmadi 2006).

`methods` has the masking methods, and `catalogue` lists them by name. `recommending` finds the
simplest method that keeps the relationships of a table. `measures` measures masked tables.
"""

from pramana_core.mask.catalogue import METHODS, mask
from pramana_core.mask.core.masked import Masked, Method

__all__ = ["METHODS", "Masked", "Method", "mask"]
