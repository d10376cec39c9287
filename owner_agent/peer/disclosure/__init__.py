"""What shared parameters tell of this owner's true records, over all sessions together.

Exact tables are remembered and refused where they would tell a person; noisy ones are kept and
paid for.
"""
