"""Reproductions of the papers' figures and tables, with a comparison of the findings.

`run` lists the experiments, and each paper has its own package or module. All share `engine`, and
the records of `distributions`, `tables` and `networks`.
"""
