"""Explanations of patterns: matches row by row, and what was missing."""
