"""Bloom forwarding: routers further on compare bits, and look at no content (XSiena, chapter 5)."""
