"""Prefix forwarding: one router matches, the next ones follow a forwarding tree (XSiena V1)."""
