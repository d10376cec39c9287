"""`make bench`: the time and memory of the product, as ratios to peers that run in turn with it.

Groups are functions that take a `Bench` (`measuring.py`), create data and return comparisons of the
same work. Peers that are not in our environment are functions of `benchmarks/bench_peers.py`, which
run in their own process and environment. `results.json` has the last stored results. Libraries for
linear algebra have one thread on both sides, because waiting threads count as processor time.
"""
