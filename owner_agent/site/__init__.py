"""The site file: what the custodian says of her table, and the plan it becomes.

Nothing here reads a record; the table is read in `owner_agent.table`.
"""
