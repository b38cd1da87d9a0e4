"""Fleet management."""
