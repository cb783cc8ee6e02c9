"""Crash/Recover: nothing that was acknowledged is lost, and everything is applied exactly once."""
