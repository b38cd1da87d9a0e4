"""Example applications: rules, background facts and generators of data for them."""
