"""Searches for the boxes that hold a point: compiled, and a scan by numpy until that is at hand."""
