"""Several trees for each source at once: what breaks on one path still comes on another."""
