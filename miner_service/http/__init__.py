"""The service over HTTP: the application and the listening process."""
