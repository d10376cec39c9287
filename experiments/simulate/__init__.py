"""Simulations: what a learner finds in randomized records of a known network or table.

`sources` says where records come from, `randomization` what is done to them, `trials` repeats both
the owners' way, and `study` is what every learner's module answers. One module per learner; `cli`
holds the commands.
"""
