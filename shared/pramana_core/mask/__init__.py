"""Masking of confidential numeric columns (AlAhmadi 2006): every method by its name.

The methods are in `methods`, and two synthetic baselines in `catalogue`, which lists all by name.
The measures, the recommendation and the comparison of methods are in rooms beside them.
"""

from pramana_core.mask.catalogue import METHODS, mask
from pramana_core.mask.core.masked import Masked, Method
from pramana_core.mask.methods.copula import cgadp, shuffle
from pramana_core.mask.methods.gadp import cadp, egadp, gadp, ipso, sadp
from pramana_core.mask.methods.nmegadp import nmegadp

__all__ = [
    "METHODS",
    "Masked",
    "Method",
    "cadp",
    "cgadp",
    "egadp",
    "gadp",
    "ipso",
    "mask",
    "nmegadp",
    "sadp",
    "shuffle",
]
