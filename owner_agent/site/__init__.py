"""The site file: the custodian's description of the table, and the plan built from the file.

This package reads no record; `owner_agent.table` reads the table.
"""
