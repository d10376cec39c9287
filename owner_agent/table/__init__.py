"""The table: its columns as text, their codes, and predictions.

`owner_agent.site` selects the columns and their categories.
"""
