"""Pseudo-data: records drawn from the paths of a tree, or labelled by it (section 2.2)."""
