"""Subscriptions by identifier range: who knows what of whom on a circle."""
