"""Users' tables and arguments, read as frames, variables and codes.

An error is one sentence that names the argument, the value given and the value expected. These
messages may quote a value, since their reader has the table; commands and services, which write
logs, never quote one.
"""
