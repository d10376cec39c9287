"""What several learners need: documents of models, columns of records, projections, seeded
resampling.

What only one kind of model needs lives with that model.
"""
