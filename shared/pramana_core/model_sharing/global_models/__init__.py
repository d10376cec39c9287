"""Global models: what is learned from records of any owners or of none, and how good it is.

Trees are grown next door, in `growing`; how pseudo-data are made and several owners' trees are put
together is said in `generating` and `combination`.
"""
