"""How a kernel regression is tuned and how far it is approximated."""

from __future__ import annotations

import sys
from dataclasses import dataclass

from pramana_core.errors import OptionError

FINITE = {"bandwidth": sys.float_info.max}
"""Options that must be finite."""


@dataclass(frozen=True)
class KernelOptions:
    """The choices of a kernel regression; None is chosen by leave-one-out errors.

    Attributes:
        bandwidth: of the Gaussian kernel exp(-|x - z|^2 / (2 bandwidth^2)), in standard deviations
            of the features.
        penalty: of the ridge, as a share of the records: one for all targets or one for each;
            infinite for a fit of what is free of it alone.
        landmarks: the most points that the kernel is spanned by; with more distinct records than
            these it is approximated (Nystrom), and the error is stated.
        linear: whether straight lines are free of the penalty as the constant always is: then
            linear relationships are never shrunk.
        smoothest: what is chosen is, for each target, the fit with the least freedom among those
            that cannot be told from the best one (the one-standard-error rule); else the fit with
            the least errors.
    """

    bandwidth: float | None = None
    penalty: float | tuple[float, ...] | None = None
    landmarks: int = 600
    linear: bool = False
    smoothest: bool = False

    def __post_init__(self) -> None:
        penalties = self.penalty if isinstance(self.penalty, tuple) else (self.penalty,)
        for name, values in (("bandwidth", (self.bandwidth,)), ("penalty", penalties)):
            for value in values:
                if value is not None and not 0 < value <= FINITE.get(name, float("inf")):
                    raise OptionError(f"{name} must be a positive number, not {value}.", where=name)
        if self.landmarks < 10:
            raise OptionError(
                f"landmarks must be at least 10, not {self.landmarks}.", where="landmarks"
            )
