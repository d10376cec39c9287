"""Jobs and what they make: options of learners, models as they are served, and the dashboard.

Tasks of peers extend the same messages; what a learner does is in `pramana_core.learn`.
"""
