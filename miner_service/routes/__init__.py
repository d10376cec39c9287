"""The routes of the REST contract (see docs/api.md)."""
