"""The protocol between owners: tasks, messages, steps, and identities with pinned certificates.

The code that answers the messages is in `owner_agent.peer`.
"""
