"""The plan's report: what a release would reveal and how accurate results would be, before it
leaves.

Numbers, words, pictures and the page; what earlier releases cost is in `owner_agent.costs`.
"""
