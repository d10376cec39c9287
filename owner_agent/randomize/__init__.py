"""The randomization mechanism: keyed draws, and the reports drawn from true codes.

The strength of randomization is configured in `owner_agent.site`.
"""
