"""Conversion of users' tables and arguments to frames, variables and codes.

An error is one sentence that names the argument, the value given and the value expected. These
messages may quote a value, since their reader has the table. Commands and services write logs, so
their messages never quote a value.
"""
