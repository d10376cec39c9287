"""The `owner-agent` command: its arguments and its output.

Reports are written in `owner_agent.report`.
"""
