"""Why did something hold or happen, and why not: trees of rules, conditions and records."""
