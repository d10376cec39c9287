"""Measures of a masked table: its utility, and the true values that it reveals.

`measure_all` takes all measures; `utility` and `security` compute the rows of one side each. This
room neither masks nor compares methods.
"""

from pramana_core.mask.measures.measure import Measure, Measures
from pramana_core.mask.measures.measuring import measure_all

__all__ = ["Measure", "Measures", "measure_all"]
