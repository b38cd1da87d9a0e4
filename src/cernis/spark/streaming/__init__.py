"""Streams: micro-batches, the state of buckets, sources and replay."""
