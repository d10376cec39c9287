"""The bound of FRAPP's equation 9 by the condition number, beside the error.

Its mechanisms and tables are in `frapp`.
"""
