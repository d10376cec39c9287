"""The figures and tables of Ma's dissertation (2006), and of Ma and Sivakumar's paper (2006).

The paper repeats experiments of the dissertation, with and without a miner.
"""
