"""The `owner-agent` command: its arguments, and what people see of the answers.

Each command is a line or two over the rooms it uses, and loads only those. Modules that end in
`_shown` print; reports are shown by `owner_agent.report`.
"""
