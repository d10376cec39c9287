"""Privacy and loss of information: Ma (2006), chapter 3."""
