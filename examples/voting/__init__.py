"""Voting in committees."""
