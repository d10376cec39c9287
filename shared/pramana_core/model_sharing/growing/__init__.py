"""Local trees: what an owner learns from its own records before anything of it is released.

`growing` is the one way in. Trees are grown as far as they go by scikit-learn, or by splits of our
own whose parts all meet a requirement (both in `required`); `offers` has the questions that a tree
may ask. What is required is said in `requirements`; noise is not added here but in `private`.
"""
