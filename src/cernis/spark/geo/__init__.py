"""Positions and AIS sentences to events on Spark."""
