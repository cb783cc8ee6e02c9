"""Which neighbor learns of which subscription: one strategy a file, same shape."""
