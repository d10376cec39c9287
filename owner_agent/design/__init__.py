"""From a stated need to a plan: designs compared, the best of them written as a site file.

The search for a design is `pramana_core.design`; this is the custodian's side of it.
"""
