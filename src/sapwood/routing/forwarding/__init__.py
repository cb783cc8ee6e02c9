"""Where a publication goes next: one strategy a file, same shape."""
