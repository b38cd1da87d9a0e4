"""Maritime situational awareness."""
