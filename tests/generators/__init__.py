"""Random programs and streams for them."""
