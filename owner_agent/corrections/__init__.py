"""What happens to a record that was reported before and has another value now.

The custodian's choice is said in the site file; what it costs is counted in `owner_agent.costs`.
"""
