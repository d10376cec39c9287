"""Decision trees learned from counts with errors (ID3; Ma 7.2)."""
