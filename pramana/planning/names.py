"""Channels, blocks and plans, under the names that people import."""

from shared.channels import (
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
from shared.plan import Block, Plan

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
