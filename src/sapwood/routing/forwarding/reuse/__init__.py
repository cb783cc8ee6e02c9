"""Lookup reuse: routers further on look up the keys that the first one has found (Shen, 3)."""
