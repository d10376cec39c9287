"""Local trees: what an owner learns from its own records before anything of it is released.

They are grown as far as they go by scikit-learn (`required`), or by splits of our own whose
parts all meet a requirement (`required`). What is required is said in `anonymity`; noise is not
added here but in `private`.
"""
