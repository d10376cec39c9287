"""Decision trees for other programs and for people: JSON, text and pictures.

What is written here was grown one floor down.
"""
