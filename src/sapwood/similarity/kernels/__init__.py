"""Similarities of one pattern with many others, compiled."""
