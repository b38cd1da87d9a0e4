"""Runs and sessions: records in, queries, changes out."""
