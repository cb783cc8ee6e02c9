"""Sketches of sets."""
