"""Whether reports could have come from any true records under the declared channels.

The miner asks this when it seals a release; nothing here estimates what the records were.
"""
