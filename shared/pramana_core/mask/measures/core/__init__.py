"""What every measure of a masked table starts from: the table three times, fits, pieces, rows.

No measure itself lives here; those of utility and of security are in the rooms beside it.
"""
