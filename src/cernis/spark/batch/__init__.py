"""The batch job: stages over buckets, and its results."""
