"""Loops from points to intervals, by the law of inertia: plain, delayed, in cycles."""
