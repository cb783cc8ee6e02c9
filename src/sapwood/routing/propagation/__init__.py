"""Propagation, which sends subscriptions to neighbors: one strategy a file, same shape."""
