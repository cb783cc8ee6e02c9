"""Rewrites of the syntax tree, one a file, each keeping the meaning."""
