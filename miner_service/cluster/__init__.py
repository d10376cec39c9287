"""Counting on several machines: a Dask cluster takes the passes over the records of jobs.

Here live the side of the job, which sends passes and gets their sums, and the worker, which reads
records from the place of files that its own settings name. Rows, estimates and models stay with the
miner. Dask is loaded in here only, and only where a scheduler is named.
"""
