"""Keyed draws, and the reports they make of true codes: the mechanism itself.

What is randomized, and how strongly, is said in `owner_agent.site`.
"""
