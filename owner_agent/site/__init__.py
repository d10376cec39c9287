"""The site file: what the custodian says of her table, and the plan it becomes.

The plan of the whole study that she follows is read here, too. Nothing here reads a record; the
table is read in `owner_agent.table`.
"""
