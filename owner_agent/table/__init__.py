"""The table: its columns as text, the codes of its values, and predictions for its records.

`owner_agent.site` selects the columns and their categories.
"""
