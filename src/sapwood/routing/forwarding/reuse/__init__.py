"""Lookup reuse: routers further on look up what the first one has found (Shen, chapter 3)."""
