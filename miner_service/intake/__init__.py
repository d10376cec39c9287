"""How a release comes in and goes, and what a study has told of a record."""
