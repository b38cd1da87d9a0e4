"""What a program is made of: its texts, and its facts of all forms."""
