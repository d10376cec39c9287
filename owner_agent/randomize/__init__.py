"""The randomization of records: keyed draws, and the reports drawn from true codes.

`owner_agent.site` configures the strength of the randomization.
"""
