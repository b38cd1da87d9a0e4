"""The members of keys: written out, told of points, and counted."""
