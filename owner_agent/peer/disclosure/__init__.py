"""What shared parameters tell of this owner's true records, over all sessions together.

Here an owner remembers the exact tables that it told and refuses those that could be subtracted
from them, or adds noise to what it tells. What randomized columns cost is not decided here.
"""
