"""Relation graphs: one a file."""
