"""Delay bounds by the million: paths of nodes whose clocks drift, and what links do to messages."""
