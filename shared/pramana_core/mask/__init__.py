"""Masking of confidential numeric columns (AlAhmadi 2006).

The methods are in `methods`; `catalogue` lists them by name. `recommending` picks the method that
keeps the relationships of a table. The measures are in the room `measures`.
"""

from pramana_core.mask.catalogue import METHODS, mask
from pramana_core.mask.core.masked import Masked, Method

__all__ = ["METHODS", "Masked", "Method", "mask"]
