"""How good a masked table is: what it is still good for, and what it gives away.

`measure_all` takes all measures: `utility` and `security` are the rows of either side. Nothing here
masks, and nothing compares methods.
"""

from pramana_core.mask.measures.measure import Measure, Measures
from pramana_core.mask.measures.measuring import measure_all

__all__ = ["Measure", "Measures", "measure_all"]
