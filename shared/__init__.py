"""Mathematics and the contract between services: no sockets, no SQL, no global state."""
