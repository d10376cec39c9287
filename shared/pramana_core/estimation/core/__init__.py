"""Solving and maximizing: channels inverted along axes, likelihoods of reports, log-linear models.

It knows tensors, channels and plans; which question an estimate answers is up to the rooms above.
"""
