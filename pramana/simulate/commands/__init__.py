"""The `pramana simulate` commands: options, tables of results and JSON.

Each turns options into one study of `pramana.simulate`.
"""
