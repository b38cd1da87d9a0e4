"""Typed columns, rows and intervals, as arrays."""
