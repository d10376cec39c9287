"""The `pramana simulate` commands: options, tables of results and JSON.

Each command turns its options into one study of `pramana.simulate`.
"""
