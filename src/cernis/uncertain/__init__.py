"""Uncertain input: probabilities of fluents, and probabilistic maximal intervals."""
