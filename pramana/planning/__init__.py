"""What is to be done to which variables: plans that a person states, and those that are designed.

Channels are in `pramana_core.channels`, and what they reveal in `pramana_core.privacy`; plans are
carried out in `pramana.owner`.
"""
