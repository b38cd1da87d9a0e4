"""Physical operators: what each logical operator does to rows of columns."""
