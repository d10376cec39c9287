"""The learners as estimators with scikit-learn's habits: options, `fit`, `predict`, `score`.

What they compute is in `pramana_core.learn`; here are frames in and frames, pictures and files out.
"""
