"""Composite events and effects over uncertain records: patterns, and what takes effect later."""
