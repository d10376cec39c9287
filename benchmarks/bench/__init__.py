"""`make bench`: what the product takes, as ratios to peers that run in turn with it.

Groups are functions that take a `Bench` (`measuring.py`), make their data and return comparisons of
the same work. Peers that are not in our environment are functions of `benchmarks/bench_peers.py`,
which run in a process and an environment of their own. `results.json` keeps what was stored last.
Libraries for linear algebra have one thread on both sides: waiting threads count as processor time.
"""
