"""Shared trees: owners release a pruned decision tree and no records (Sharkey 2008).

Here live trees and their schemas, how an owner grows them (`growing`, by questions of `offers`),
what is required of them, and pseudo-data of one tree. A miner draws pseudo-data from the trees of
several owners, or combines the trees themselves, in `global_models`; noise is added in `private`
alone.
"""
