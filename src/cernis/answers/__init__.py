"""What was recognised: results, tables, lines of text, files, accuracy."""
