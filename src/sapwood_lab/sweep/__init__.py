"""Experiments over a grid of configurations, as Spark jobs."""
