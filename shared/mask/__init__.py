"""Masking of confidential numeric columns (AlAhmadi 2006): every method by its name.

The methods are in `methods` and `synthetic`; the measures, the recommendation and the comparison
of methods are in rooms beside them.
"""

from shared.mask.catalogue import METHODS, mask
from shared.mask.core.masked import Masked
from shared.mask.core.method import Method
from shared.mask.methods.additive import cadp, sadp
from shared.mask.methods.copula import cgadp
from shared.mask.methods.gadp import egadp, gadp, ipso
from shared.mask.methods.nmegadp import nmegadp
from shared.mask.methods.shuffling import shuffle

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
