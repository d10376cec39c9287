"""Itemsets and rules for other programs and for people: JSON, CSV, data frames and pictures.

What is written here was decided one floor down.
"""
