"""Masking of confidential numeric columns (AlAhmadi 2006): every method by its name.

The methods are in `methods` and `synthetic`; the measures, the recommendation and the comparison
of methods are in rooms beside them.
"""

from pramana_core.mask.catalogue import METHODS, mask
from pramana_core.mask.core.masked import Masked
from pramana_core.mask.core.method import Method
from pramana_core.mask.methods.additive import cadp, sadp
from pramana_core.mask.methods.copula import cgadp
from pramana_core.mask.methods.gadp import egadp, gadp, ipso
from pramana_core.mask.methods.nmegadp import nmegadp
from pramana_core.mask.methods.shuffling import shuffle

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
