"""The papers' tables and networks as records or probabilities.

Public files are read from the folder a person names.
"""
