"""Failure detectors: who has not given a sign of life for too long. Time is an argument."""
