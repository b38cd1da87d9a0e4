"""What moves between the tasks of a job: rows, blobs, buckets, and who owns what."""
