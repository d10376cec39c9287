"""Linear classifiers: Ma (2006), chapter 6."""
