"""Steps of event patterns: matches, pairs, sliding windows, derived events."""
