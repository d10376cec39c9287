"""The `owner-agent` command: its arguments, and what people see of the answers.

Each command is a line or two over the rooms it uses, and loads only those.
"""
