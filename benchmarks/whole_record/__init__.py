"""What is learned under one bound for the whole record, measured by the product's own commands.

`python -m benchmarks.whole_record` runs `pramana simulate` over tables, learners and bounds, keeps
the figures in results.json, and writes docs/whole-record.md with its pictures.
"""
