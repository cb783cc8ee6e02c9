"""Subscriptions that travel from router to router on the ways of routing on a circle."""
