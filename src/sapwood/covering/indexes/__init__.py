"""Covering indexes: one a file."""
