"""Strata evaluated from what has changed since the query before."""
