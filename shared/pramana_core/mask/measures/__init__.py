"""Measures of a masked table: how useful it is, and how much it reveals about true values.

`measure_all` computes all measures: the modules `utility` and `security` each compute their own
rows. This package neither masks tables nor compares methods.
"""

from pramana_core.mask.measures.measure import Measure, Measures
from pramana_core.mask.measures.measuring import measure_all

__all__ = ["Measure", "Measures", "measure_all"]
