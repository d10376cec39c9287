"""`make bench`: time and memory of the product, as ratios to those of other libraries ("peers").

A group is a function that takes a `Bench` (`measuring.py`), creates data and returns comparisons of
the same work. Peers that are not installed in our environment are functions of
`benchmarks/bench_peers.py`, which run in a separate process and environment. `results.json` has the
last stored results. Libraries for linear algebra have one thread on both sides, because waiting
threads count as processor time.
"""
