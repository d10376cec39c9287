"""Networks for other programs and for people: BIF, DOT, JSON and pictures.

Files are written by whoever asks; here a network becomes text and back.
"""
