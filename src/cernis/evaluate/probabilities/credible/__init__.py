"""Credible intervals of courses: recognised, tracked from query to query, and reported."""
