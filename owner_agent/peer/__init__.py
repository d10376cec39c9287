"""Learning without a miner: owners exchange randomized columns and end with the same network.

Messages and tasks at the bottom, what is told of true records in `disclosure`, and the network
between owners in `transport`, above which there is only the command line.
"""
