"""What masking protects and what it does not, in sentences that hold for the method used."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from pramana_core.mask.core.masked import Method

LETTERS = (
    "S is what is told as it is, X what is confidential and stays here, Y what is released in X's"
    " place."
)
"""What the letters mean in sentences of measures."""

NO_BOUND = (
    "Masked records carry no gamma and no epsilon: there is no bound on what they tell of one"
    " record."
)


LISTED = 160
"""Names of columns longer than this together are counted, so that sentences stay sentences."""


def listed(names: Sequence[str]) -> str:
    """Return names one after the other, or, if they are long, how many there are."""
    text = ", ".join(names)
    return text if len(text) <= LISTED else f"the {len(names)} columns told"


def protection(
    method: Method, told: Sequence[str], copies: int, bounds: Collection[str] = ()
) -> tuple[str, ...]:
    """Return what a method gives and what it does not: facts of the method, none of the table.

    Args:
        method: the method.
        told: the columns that are told as they are.
        copies: how many masked copies leave.
        bounds: the columns whose masked values are cut to bounds.
    """
    beside = listed(told) if told else "nothing"
    said = [NO_BOUND, method.protects]
    if method.independent:
        said.append(
            f"Whoever knows {beside} of a person learns from the masked values what all records"
            " together tell of such people, her own value among them; how much that is, is stated"
            " for each record. How the confidential columns depend on the others is released on"
            " purpose."
        )
        said.append(
            "A record that stands alone in the columns told, by a rare category or an outlying"
            " number, decides its own prediction; its masked value can then be close to the true"
            " one. max_leverage limits that, and the page names such records."
        )
    if told:
        said.append(
            f"What is told ({beside}) leaves as it is: it must not be sensitive, and together it"
            " may identify people."
        )
    if method.released_values:
        said.append(
            "The released values are the true ones, reordered: the largest and the smallest are in"
            " the release, at other records."
        )
    if method.exact_moments or method.released_values:
        said.append(
            "A second release of nearly the same records would give away the values of those that"
            " differ, by subtraction; the ledger refuses it."
        )
    if not method.independent and copies > 1:
        said.append(f"Here {copies} copies leave at once, and their noise averages out.")
    if bounds and not method.released_values:
        said.append(
            f"Masked values of {listed(tuple(bounds))} are cut to bounds: means and covariances are"
            " nearly, not exactly, what they would be without."
        )
    return tuple(said)
