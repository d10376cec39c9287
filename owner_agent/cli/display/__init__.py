"""What people see of the answers in a terminal: tables and lines, nothing computed.

Pages and pictures are made in `owner_agent.report`.
"""
