"""Estimation: Ma (2006), chapter 2."""
