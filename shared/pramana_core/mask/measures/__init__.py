"""How good a masked table is: what it is still good for, and what it gives away.

`measure_all` takes all measures; `utility_rows` and `security_rows` are those of either side,
each made of functions of its own; all start from the table three times, in `compared`. Nothing here
masks, and nothing compares methods.
"""

from pramana_core.mask.measures.compared import Measure, Measures
from pramana_core.mask.measures.measuring import measure_all

__all__ = ["Measure", "Measures", "measure_all"]
