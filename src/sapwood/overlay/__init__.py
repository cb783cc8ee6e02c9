"""Overlays: which routers are neighbors, and the ways between them."""
