"""Strata evaluated column by column, from all that the window holds."""
