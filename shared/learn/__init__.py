"""Learners: functions of marginals that return frozen models with their uncertainty."""
