"""Routing where links form circles: an ordinary router on a tree for each source."""
