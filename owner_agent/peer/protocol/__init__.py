"""The protocol between owners: tasks, messages, steps, and identities with pinned certificates.

`owner_agent.peer` implements the answers.
"""
