"""Several masked copies of one table: how many may leave, and what their estimates say together.

Copies here are independent draws by one generator. How an owner draws and names them is in
`owner_agent`; the regressions whose results are combined are in `pramana_core.regression`.
"""

from pramana_core.mask.copies.combining import CombinedEstimates, combine_copies, require_few_copies

__all__ = ["CombinedEstimates", "combine_copies", "require_few_copies"]
