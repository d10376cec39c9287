"""How masking methods are set beside one another, at equal disclosure risk where that is a choice.

Measures are in `shared.mask.measures`, the choice of a method in `shared.mask.advice`.
"""

from shared.mask.comparison.comparing import MethodComparison, MethodRow, compare
from shared.mask.comparison.reports import measure_reports
from shared.mask.comparison.tuning import noise_for_gain

__all__ = ["MethodComparison", "MethodRow", "compare", "measure_reports", "noise_for_gain"]
