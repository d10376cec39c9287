"""Global models: what is learned from several owners' trees, and how good it is.

Several owners' trees are made into one by `combining`, the one way in: by their pseudo-data
together, or as votes. How one tree is grown, or gives pseudo-data, is said in the room
above.
"""
