"""Membership: a router's neighbors, and those it routes with for each source; one strategy each."""
