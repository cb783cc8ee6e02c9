"""Generators of subscriptions and publications, seeded and streaming."""
