"""Which masking method keeps the relationships that a table has.

The methods are in `pramana_core.mask.methods`; what one of them did is measured in
`pramana_core.mask.measures`.
"""

from pramana_core.mask.advice.recommending import Evidence, Recommendation, recommend

__all__ = ["Evidence", "Recommendation", "recommend"]
