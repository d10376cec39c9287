"""The `owner-agent` command: its arguments, and what people see of the answers."""
