"""The learners as estimators in scikit-learn's style: options, `fit`, `predict`, `score`.

The computations are in `pramana_core.learn`. This package reads frames and returns frames, pictures
and files.
"""
