"""The changes of the schema, one file each, named by the revision that it makes.

A file stays as it is once a release contains it.
"""
