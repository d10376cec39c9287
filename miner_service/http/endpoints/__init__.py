"""The endpoints of the REST API, whose functions the pages and commands call, too."""
