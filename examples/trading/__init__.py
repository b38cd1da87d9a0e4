"""The trading application: rises, averages and orders."""
