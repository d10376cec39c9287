"""What people pass: tables of any kind, understood as frames, variables and codes, or refused.

A refusal is one sentence that names the argument, what was given and what is wanted. It may quote a
value, for whoever reads it holds the table; commands and services, which write logs, never do.
"""
