"""Reports: from an answer and its records to a page that people look at."""
