"""From a stated need to a plan: designs compared, the best of them written as a site file.

The search for a design is `shared.design`; this is the custodian's side of it.
"""
