"""Which masking method keeps the relationships that a table has.

The methods are in `shared.mask.methods`; what one of them did is measured in `shared.mask.measures`.
"""
