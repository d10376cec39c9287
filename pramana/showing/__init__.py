"""What a notebook prints of things, and the axes that pictures are drawn on.

What a picture shows is in `pramana_core.learn.*.exchange`; which numbers a thing tells, in that
thing.
"""
