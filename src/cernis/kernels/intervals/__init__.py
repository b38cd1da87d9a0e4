"""Loops over lists of intervals: set operations, relations, look-ups of points."""
