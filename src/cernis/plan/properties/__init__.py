"""What is true of a program, found out once from its rules, for all who evaluate it."""
