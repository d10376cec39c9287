"""What an owner keeps secret or locked: private files, keys, tokens, the publication's lock."""
