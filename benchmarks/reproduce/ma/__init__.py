"""The figures and tables of Ma's dissertation (2006), and of Ma and Sivakumar's paper (2006).

The paper repeats some experiments of the dissertation with a miner and without one.
"""
