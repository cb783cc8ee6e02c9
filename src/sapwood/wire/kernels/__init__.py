"""Frames of publications, found, read and composed by compiled code."""
