"""Where elements lie in a sketch: compiled, with a plain twin."""
