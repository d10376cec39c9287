"""A channel or more of every family, small enough to list."""

from __future__ import annotations

from pramana_core.channels import (
    RESOLUTION,
    Choice,
    Coordinated,
    CutAndPaste,
    Dense,
    Grouped,
    Identity,
    Mixture,
    OneHot,
    Product,
    RandomSymmetric,
    Sampled,
    SubsetSelection,
    Symmetric,
    Transition,
    Withheld,
)

QUARTER = RESOLUTION // 4

EXAMPLES: dict[str, Transition] = {
    "identity": Identity(3),
    "symmetric": Symmetric.from_probability(4, 0.3),
    "symmetric that tells": Symmetric(3, 0),
    "symmetric that swaps": Symmetric(2, RESOLUTION),
    "dense": Dense.from_probabilities([[0.7, 0.2, 0.1], [0.1, 0.5, 0.4], [0, 0.1, 0.9]]),
    "dense that moves": Dense(((0, RESOLUTION), (RESOLUTION, 0))),
    "rectangular": Dense.from_probabilities([[0.5, 0.3, 0.2], [0.25, 0.25, 0.5]]),
    "grouped": Grouped(
        ((0, 2), (1,), (3, 4)), (Symmetric(2, 5 * QUARTER // 3), None, Dense.binary(0.1, 0.2))
    ),
    "grouped that tells": Grouped(((0, 2), (1,)), (Identity(2), None)),
    "random symmetric": RandomSymmetric.around_gamma(6, 9.0, 0.5),
    "mixture": Mixture.from_gamma(6, 19.0),
    "withheld": Withheld(3),
    "one-hot": OneHot.from_gamma(3, 9.0),
    "one-hot that tells": OneHot(2, 0),
    "cut and paste": CutAndPaste.from_probability((2, 3), 1, 0.4),
    "cut and paste that tells nothing": CutAndPaste((2, 2), 1, RESOLUTION, 2),
    "subset selection": SubsetSelection.from_gamma(7, 2.0),
    "subset selection that rules out": SubsetSelection(5, 2, RESOLUTION),
    "sampled": Sampled(
        (2, 3, 2),
        (
            Choice((0, 2), QUARTER, Mixture.from_gamma(4, 9.0)),
            Choice((1,), QUARTER, Symmetric.from_gamma(3, 9.0)),
            Choice((0, 1), QUARTER, Symmetric.from_gamma(6, 9.0)),
        ),
    ),
    "sampled subsets": Sampled(
        (2, 3),
        (
            Choice((0, 1), QUARTER, SubsetSelection.from_gamma(6, 1.5)),
            Choice((0, 1), QUARTER, Symmetric.from_gamma(6, 1.5)),
            Choice((1,), QUARTER, Symmetric.from_gamma(3, 1.5)),
        ),
    ),
    "coordinated": Coordinated(
        (2, 3),
        (
            Choice((0, 1), QUARTER, Mixture.from_gamma(6, 9.0)),
            Choice((1,), QUARTER, Symmetric.from_gamma(3, 3.0)),
        ),
        (QUARTER, 3 * QUARTER),
        "0123456789abcdef" * 4,
    ),
    "nested product": Product(
        (2, 1),
        (
            Product((1, 1), (Dense.binary(0.1, 0.25), Symmetric.from_gamma(3, 4.0))),
            Dense.from_probabilities([[0.5, 0.3, 0.2], [0.1, 0.2, 0.7]]),
        ),
    ),
    "product": Product((2, 1), (Mixture.from_gamma(6, 9.0), Symmetric.from_gamma(2, 3.0))),
}
