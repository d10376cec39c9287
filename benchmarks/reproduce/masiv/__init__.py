"""The tables and figures of MaSiv (Ma and Sivakumar, 2006), with a miner and without.

Its networks are those of chapter 5 of the dissertation, which repeats most of its experiments.
"""
