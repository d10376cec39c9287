"""The `owner-agent` command: its arguments, and what people see of the answers.

Reports are written in `owner_agent.report`.
"""
