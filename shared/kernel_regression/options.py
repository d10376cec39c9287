"""How a kernel regression is tuned and how far it is approximated."""

from __future__ import annotations

from dataclasses import dataclass

from shared.errors import OptionError


@dataclass(frozen=True)
class KernelOptions:
    """The choices of a kernel regression; None is chosen by leave-one-out errors.

    Attributes:
        bandwidth: of the Gaussian kernel exp(-|x - z|^2 / (2 bandwidth^2)), in standard deviations
            of the features.
        penalty: of the ridge, as a share of the records.
        landmarks: the most points that the kernel is spanned by; with more distinct records than
            these it is approximated (Nystrom), and the error is stated.
        linear: whether straight lines are free of the penalty as the constant always is: then
            linear relationships are never shrunk.
    """

    bandwidth: float | None = None
    penalty: float | None = None
    landmarks: int = 600
    linear: bool = False

    def __post_init__(self) -> None:
        for name in ("bandwidth", "penalty"):
            value = getattr(self, name)
            if value is not None and not 0 < value < float("inf"):
                raise OptionError(f"{name} must be a positive number, not {value}.", where=name)
        if self.landmarks < 10:
            raise OptionError(
                f"landmarks must be at least 10, not {self.landmarks}.", where="landmarks"
            )
