"""The synthetic baselines by name, as methods beside the masking methods."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from pramana_core.mask.core.inputs import MAX_LEVERAGE
from pramana_core.mask.core.masked import Method
from pramana_core.mask.synthetic.trees import synthetic_copula, synthetic_trees

METHODS: Mapping[str, Method] = MappingProxyType(
    {
        method.name: method
        for method in (
            Method(
                "synthetic-copula",
                synthetic_copula,
                keeps="Monotonic relationships, up to sampling error, and nearly the marginals.",
                protects="Drawn from what S tells of a record by the fitted copula, the values"
                " tell nothing more of its true ones; they carry no bound on what one record may"
                " tell. They lie between true values, and the extremes may occur, unlinked.",
                options={"max_leverage": MAX_LEVERAGE, "max_told": None},
            ),
            Method(
                "synthetic-trees",
                synthetic_trees,
                keeps="Relationships of any shape, as far as the leaves of the trees resolve them.",
                protects="The values are true values of real people alike in S, drawn from leaves"
                " of at least min_leaf records, and about one in a leaf's size of them lands in its"
                " own record; smoothing moves each by a little. They carry no bound on what one"
                " record may tell.",
                options={"min_leaf": 5, "draw": "bayesian-bootstrap", "smoothing": False},
                released_values=True,
                independent=False,
            ),
        )
    }
)
"""The baselines of this room by their names."""
