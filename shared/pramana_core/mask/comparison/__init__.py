"""How masking methods are set beside one another, at equal disclosure risk where that is a choice.

Measures are in `pramana_core.mask.measures`, the choice of a method in `pramana_core.mask.advice`.
"""

from pramana_core.mask.comparison.comparing import (
    MethodComparison,
    MethodRow,
    compare,
    measure_reports,
    noise_for_gain,
)

__all__ = ["MethodComparison", "MethodRow", "compare", "measure_reports", "noise_for_gain"]
