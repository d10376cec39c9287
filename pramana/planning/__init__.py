"""What is to be done to which variables: plans that a person states, and those that are designed.

Channels are in `shared.channels`, and what they reveal in `shared.privacy`; plans are carried out
in `pramana.owner`.
"""
