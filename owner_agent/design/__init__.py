"""The custodian's side of designs: variables of several owners, and the plan as text."""
