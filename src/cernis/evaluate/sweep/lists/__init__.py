"""Programs over lists of intervals: keys, sources, and what comes and goes of both."""
