"""Pages for browsers: columns packed into one file with the scripts and styles that show them."""
