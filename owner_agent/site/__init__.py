"""The site file: the custodian's description of the table, and the plan built from it.

Nothing here reads a record: `owner_agent.table` reads the table.
"""
