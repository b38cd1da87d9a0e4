"""What lanes know of others: gates that are open at points, and counts of what holds there."""
