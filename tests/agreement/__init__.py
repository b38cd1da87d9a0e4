"""The engine as a whole: random programs, examples and applications, against the reference."""
