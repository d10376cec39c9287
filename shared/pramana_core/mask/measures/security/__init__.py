"""What a masked table gives away of the true one: to correlations, to snoopers, to whoever links.

A snooper is taken to know S, Y and the true X of other people. What S alone tells of X is released
on purpose; these measures ask what Y tells beyond it. What the table is good for is not asked here.
"""
