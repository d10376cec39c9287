"""The table: its columns as text, the codes they become, and predictions.

Which columns matter and what their categories are is said in `owner_agent.site`.
"""
