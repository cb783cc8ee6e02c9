"""Soft state: every entry of a routing table runs out, unless it is renewed from where it began."""
