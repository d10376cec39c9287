"""Measures of a masked table: how useful it is, and how much it reveals about true values.

`measure_all` computes all measures. `utility` computes those on usefulness, and `security` those on
disclosure. This package neither masks nor compares methods.
"""

from pramana_core.mask.measures.measure import Measure, Measures
from pramana_core.mask.measures.measuring import measure_all

__all__ = ["Measure", "Measures", "measure_all"]
