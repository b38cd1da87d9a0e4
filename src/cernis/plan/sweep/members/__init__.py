"""Rules about the members of a key: heads that hold of all, points sent to them, counts."""
