"""What the pages of owners and of the miner have in common: layout, style, policy, forms, cookies.

Which pages there are, and who may see them, is each side's own.
"""
