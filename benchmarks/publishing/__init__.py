"""Tables published by anjana, an l-diversity library that needs other libraries than ours.

`make publishing-peer` installs it, pinned, into an environment of its own, and writes at which
levels it publishes the training records of every fold: pramana/reproduce/sharkey/published.json.
"""
