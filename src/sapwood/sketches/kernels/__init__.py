"""The places of elements in a sketch: compiled, with a plain twin."""
