"""The changes of the schema, one file each, named by the revision that it makes.

A file never changes after its release.
"""
