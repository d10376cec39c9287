"""Which masking method keeps the relationships that a table has.

The methods are in `shared.mask.methods`; what one of them did is measured in
`shared.mask.measures`.
"""

from shared.mask.advice.dependence import Evidence
from shared.mask.advice.recommending import Recommendation, recommend

__all__ = ["Evidence", "Recommendation", "recommend"]
