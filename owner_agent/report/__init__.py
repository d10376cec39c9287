"""What a release would reveal, of a plan, a masked table or a tree, before it leaves."""
