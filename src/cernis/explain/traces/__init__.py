"""Traces of rules as events beside them, and provenance by joins."""
