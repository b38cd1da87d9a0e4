"""What operators read and write during a query, in parts with one role each."""
