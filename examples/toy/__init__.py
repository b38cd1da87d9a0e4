"""The toy application: luck, places and happiness."""
