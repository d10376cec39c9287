"""Logs whose lines are chained by hashes: a line, the file, its anchors, its verification.

What is noted, and when, is for the services; an anchor is what somebody else remembers of a log.
"""
