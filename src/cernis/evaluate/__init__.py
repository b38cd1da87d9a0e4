"""Brings the strata of a plan up to date, query by query."""
