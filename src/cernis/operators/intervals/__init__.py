"""Steps over lists of intervals, which define statically determined fluents."""
