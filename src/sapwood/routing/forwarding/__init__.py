"""Forwarding, which selects the next links of a publication: one strategy a file, same shape."""
