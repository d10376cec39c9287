"""Privacy and loss of information: Ma (2006), chapter 3.

Experiments are listed in `pramana.reproduce.catalogue`; what they share is in `engine` and `data`.
"""
