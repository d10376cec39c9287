"""Association rules and decision trees: Ma (2006), chapter 7."""
