"""Biological feedback loops."""
