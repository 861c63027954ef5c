"""What changed between two states of a database's catalog, how much it matters, and what it touches."""
