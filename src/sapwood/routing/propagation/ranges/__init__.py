"""Subscriptions by identifier range on a circle."""
