"""Loops of the sweep: one walk in time through the records of each key, a state word at a time."""
