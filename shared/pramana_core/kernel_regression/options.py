"""How a kernel regression is tuned and how far it is approximated."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Annotated

from annotated_types import Ge

from pramana_core.errors import OptionError
from pramana_core.learn.common.options import Positive, require_limits


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

    bandwidth: Positive | None = None
    penalty: float | tuple[float, ...] | None = None
    landmarks: Annotated[int, Ge(10)] = 600
    linear: bool = False
    smoothest: bool = False

    def __post_init__(self) -> None:
        require_limits(self)
        penalties = self.penalty if isinstance(self.penalty, tuple) else (self.penalty,)
        for value in penalties:
            if value is not None and not (isinstance(value, Real) and value > 0):
                raise OptionError(
                    f"penalty must be a positive number, not {value!r}.", where="penalty"
                )
