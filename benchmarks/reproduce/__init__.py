"""The papers' figures and tables made again, with what agrees and what does not.

`run` lists the experiments; what they share is in `engine` and `data`, each paper in a room.
"""
