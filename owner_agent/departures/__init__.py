"""What left the site: releases on disk, the ledger of draws, and how columns and people are known
again.

Sending is done by `owner_agent.release` and `owner_agent.peer`; what it costs is told by
`owner_agent.costs`.
"""
