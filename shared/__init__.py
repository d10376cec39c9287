"""The mathematics of Pramana and the contract between its services: no sockets, no SQL, no global state."""
