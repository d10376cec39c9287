"""Figures of how the service fares, in the text that Prometheus reads: requests, jobs, disk.

Each process has its own. No label holds anything of a study: names of routes, statuses, states and
codes of problems are all there are. Who may read them is in `miner_service.http.access.access`.
"""
