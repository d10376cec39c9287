"""The site file: what the custodian says of her table, and the plan it becomes.

Nothing here reads a record: `owner_agent.table` reads the table.
"""
