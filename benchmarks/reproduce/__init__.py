"""The papers' figures and tables made again, with what agrees and what does not.

`run` lists the experiments, each paper in a room. They share `engine`, and the records of
`distributions`, `tables` and `networks`.
"""
