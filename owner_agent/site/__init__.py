"""The site file and the plan it becomes, with the study's plan. Nothing here reads a record."""
