"""Reports before a release, on what a plan, a masked table or a tree would reveal.

`owner_agent.release` prepares and records the releases.
"""
