"""Linear classifiers for other programs and for people: JSON and pictures.

What is written here was fitted one floor down.
"""
