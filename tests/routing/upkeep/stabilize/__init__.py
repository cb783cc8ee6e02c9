"""Edge stabilization."""
