"""Failure detectors: peers that have been silent for too long. Time is an argument."""
