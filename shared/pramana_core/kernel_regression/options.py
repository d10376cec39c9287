"""The options of a kernel regression."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Annotated

from annotated_types import Ge

from pramana_core.errors import OptionError
from pramana_core.learn.common.options import Positive, require_limits


@dataclass(frozen=True)
class KernelOptions:
    """The options of a kernel regression; None is chosen by leave-one-out errors.

    Attributes:
        bandwidth: of the Gaussian kernel exp(-|x - z|^2 / (2 bandwidth^2)), in standard deviations
            of the features.
        penalty: of the ridge, as a share of the records: one for all targets or one for each;
            infinite removes the penalized part of the fit.
        landmarks: the most points that span the kernel; with more distinct records it is
            approximated (Nystrom), and the fit states the loss.

    Raises:
        OptionError: a number out of its range.
    """

    bandwidth: Positive | None = None
    penalty: float | tuple[float, ...] | None = None
    landmarks: Annotated[int, Ge(10)] = 600

    def __post_init__(self) -> None:
        require_limits(self)
        penalties = self.penalty if isinstance(self.penalty, tuple) else (self.penalty,)
        for value in penalties:
            if value is not None and not (isinstance(value, Real) and value > 0):
                raise OptionError(
                    f"penalty must be a positive number, not {value!r}.", where="penalty"
                )

    def penalties(self, targets: int) -> tuple[float, ...] | None:
        """Return a penalty for each target; None if they are to be chosen.

        Raises:
            OptionError: there are not as many penalties as targets.
        """
        if self.penalty is None:
            return None
        if not isinstance(self.penalty, tuple):
            return (float(self.penalty),) * targets
        if len(self.penalty) != targets:
            raise OptionError(
                f"There are {len(self.penalty)} penalties for {targets} targets.", where="penalty"
            )
        return tuple(map(float, self.penalty))
