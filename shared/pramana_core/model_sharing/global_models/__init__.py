"""Global models: what is learned from several owners' trees, and how good it is."""
