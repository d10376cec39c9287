"""The local agent over HTTP: status, plan, ledger, publications one at a time.

What owners ask each other is served in `owner_agent.peer`.
"""
