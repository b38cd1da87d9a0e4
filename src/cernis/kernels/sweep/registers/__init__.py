"""Registers of lanes: values that a state word has no bits for, and guards that compare them."""
