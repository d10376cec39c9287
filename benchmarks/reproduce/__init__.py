"""Reproductions of the papers' figures and tables, with a comparison of the findings.

`run` lists the experiments; each paper has its room. They share `engine`, and the records of
`distributions`, `tables` and `networks`.
"""
