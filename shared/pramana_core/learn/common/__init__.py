"""What learners have in common: their options, documents of models, columns of records,
projections, seeded resampling.

Whatever else only one kind of model needs lives with that model.
"""
