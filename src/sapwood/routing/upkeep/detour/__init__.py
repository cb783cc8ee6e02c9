"""Detours: a link that is down for long is gone round, where other links lead to its other end."""
