"""Saved sessions: what a session knows, as a plain tree in a file, and back."""
