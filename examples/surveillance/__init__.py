"""Public space surveillance."""
