"""Fast loops over plain arrays, compiled and kept on disk; each with a plain numpy twin."""
