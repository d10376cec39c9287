"""What an owner keeps secret or locked: private files, keys, tokens, one publication at a time.

What left the site is recorded in `owner_agent.release`.
"""
