limit(10).
