"""Upkeep, which keeps routing state right when links come and go: one strategy a file."""
