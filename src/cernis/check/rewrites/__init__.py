"""Passes that turn clauses into other clauses, before they are understood."""
