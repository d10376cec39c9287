"""Studies simulated on a table or a network, to compare accuracy and privacy before a real study.

The command line is in `commands`.
"""
