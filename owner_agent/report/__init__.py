"""Reports on what a plan, a masked table or a tree would reveal, before the release.

Preparing and recording releases is in `owner_agent.release`.
"""
