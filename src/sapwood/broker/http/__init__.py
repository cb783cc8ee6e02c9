"""The HTTP pages of a broker: its metrics, its health, and its gateway."""
