"""Predictions of a learned model for the owner's own records: the model travels, they do not.

Models are read by `pramana_core.learn.prediction`.
"""
