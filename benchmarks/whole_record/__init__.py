"""What is learned under one bound for the whole record, measured by the product's own commands.

`python -m benchmarks.whole_record` runs `pramana simulate` over tables, learners and bounds, keeps
the figures in results.json, and writes docs/whole-record.md with its pictures.
`python -m benchmarks.whole_record.networks` runs every learner on published networks under every
bound, and keeps in networks.json how each command ended and what it took.
"""
