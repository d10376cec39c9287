"""Masking of confidential numeric columns (AlAhmadi 2006): every method by its name.

The methods are in `methods`; `catalogue` lists all by name. `recommending` says which of them keeps
the relationships that a table has. The measures are in the room `measures`.
"""

from pramana_core.mask.catalogue import METHODS, mask
from pramana_core.mask.core.masked import Masked, Method

__all__ = ["METHODS", "Masked", "Method", "mask"]
