"""Walks over linked instances: records are numbered and signed, words and timers kept."""
