"""Soft state: whatever is in a routing table runs out, unless it is renewed from where it began."""
