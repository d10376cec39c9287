"""Models as objects of other libraries, and back: pgmpy, pyAgrum, networkx.

Files of other programs (BIF, DOT) are written in `pramana_core.learn`; the libraries are loaded
when asked for.
"""
