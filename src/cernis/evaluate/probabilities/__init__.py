"""Strata over uncertain records: probabilities of pairs, and credible intervals."""
