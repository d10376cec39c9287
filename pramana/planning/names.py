"""Channels, blocks and plans, under the names that people import."""

from pramana_core.channels import (
    CutAndPaste,
    Dense,
    Grouped,
    Identity,
    Mixture,
    OneHot,
    RandomSymmetric,
    Sampled,
    StructuralZeros,
    Symmetric,
    Withheld,
)
from pramana_core.plan import Block, Plan

__all__ = [
    "Block",
    "CutAndPaste",
    "Dense",
    "Grouped",
    "Identity",
    "Mixture",
    "OneHot",
    "Plan",
    "RandomSymmetric",
    "Sampled",
    "StructuralZeros",
    "Symmetric",
    "Withheld",
]
